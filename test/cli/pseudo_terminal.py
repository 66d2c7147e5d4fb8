"""Runs a command in a real pseudo terminal: what is typed comes from stdin, what it shows goes to stdout.

python3 pseudo_terminal.py COLUMNS ROWS COMMAND [ARGUMENT...]
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

columns, rows, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
    os.execvp(command[0], command)

watched = [terminal, 0]
while terminal in watched:
    for ready in select.select(watched, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:
            # The other side of the terminal is closed: the command has ended.
            data = b""
        if not data:
            watched.remove(ready)
        elif ready == terminal:
            os.write(1, data)
        else:
            os.write(terminal, data)

status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
