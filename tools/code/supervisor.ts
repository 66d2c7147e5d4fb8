/**
 * What runs first inside the sandbox, in Python since that is what is there: it takes a request, sets the limits, runs
 * the code in a process below it, and gives back output, files and end. Behind a boundary it is process 1: nothing
 * in there can signal it, and when it ends the kernel ends all the rest.
 *
 * V1  A life line: when standard input closes (the worker has aborted, or is gone) all ends at once.
 * V2  The code's process has no descriptor but its own three: output goes through a pipe that is read here, in order.
 * V3  Files are read when no process is left that could change them; links and devices are never followed.
 * V4  Nothing here is trusted by the worker: it reads frames with limits of its own.
 *
 * In: one line of JSON (`SandboxRequest`). Out: frames, see read-frames.ts.
 */
export const SUPERVISOR = String.raw`
import base64, ctypes, json, os, resource, select, shutil, signal, stat, struct, sys, tempfile, time

PIECE = 65536
LOOK_EVERY = 0.1
SHOW_EVERY = 0.02
libc = ctypes.CDLL(None, use_errno=True)


def frame(kind, *parts):
    data = kind + struct.pack(">I", sum(map(len, parts))) + b"".join(parts)
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def prctl(option, *arguments):
    if libc.prctl(option, *[ctypes.c_ulong(value) for value in arguments + (0,) * (4 - len(arguments))]) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d: %s" % (option, os.strerror(ctypes.get_errno())))


def harden():
    prctl(4, 1)  # PR_SET_DUMPABLE, or its own files in /proc would be closed to it
    for name, (soft, hard) in request["rlimits"].items():
        resource.setrlimit(getattr(resource, name), (soft, hard))
    os.nice(10)
    with open("/proc/self/oom_score_adj", "w") as adjust:
        adjust.write("1000")
    prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
    code = base64.b64decode(request["filter"])
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions))
    program = ctypes.create_string_buffer(program, len(program))
    prctl(22, 2, ctypes.addressof(program))  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def begin(output, complaint):
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(complaint, 3, inheritable=False)
        os.closerange(4, 65536)
        os.chdir(work)
        harden()
        # Modules that the program writes into its folder can be imported.
        environment = dict(request["env"], HOME=os.path.dirname(script), PYTHONPATH=work)
        os.execve(request["python"], [request["python"], "-s", "-u", script], environment)
    except BaseException as error:
        os.write(3, ("%s: %s" % (type(error).__name__, error)).encode())
    finally:
        os._exit(126)


def stop_all():
    "Every other process. Those that were orphaned are children of process 1, so none is overlooked."
    while True:
        try:
            os.kill(-1, signal.SIGKILL) if alone else os.killpg(main, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            note(*os.wait4(-1, 0))
        except ChildProcessError:
            return


def note(pid, status, usage):
    if pid == main:
        ended.update(
            exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            cpu=usage.ru_utime + usage.ru_stime,
        )
    return pid


def reap():
    try:
        while note(*os.wait4(-1, os.WNOHANG)) != 0:
            pass
    except ChildProcessError:
        pass


def leave():
    stop_all()
    if not alone:
        shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


def forward():
    "What was printed since the last time; a print is many writes, and need not be as many frames."
    global printed, waiting
    room = max(0, request["output_bytes"] - printed)
    printed += len(waiting)
    if room > 0 and waiting:
        frame(b"O", waiting[:room])
    waiting = b""


def overstepped():
    "Limits that the kernel does not keep for all processes together."
    memory = 0
    for entry in os.listdir("/proc"):
        if alone and entry.isdigit() and entry != "1":
            try:
                with open("/proc/%s/status" % entry, "rb") as lines:
                    memory += sum(int(line.split()[1]) for line in lines if line.startswith(COUNTED))
            except (OSError, ValueError):
                pass
    if memory * 1024 > request["memory_bytes"]:
        return "memory"
    for folder in request["folders"]:
        room = os.statvfs(folder)
        if room.f_files - room.f_ffree > request["inodes"]:
            return "inodes"
    return None


COUNTED = (b"RssAnon:", b"RssShmem:", b"VmSwap:")


def supervise():
    global waiting
    poller = select.poll()
    poller.register(0, select.POLLIN)
    poller.register(reading, select.POLLIN)
    deadline = time.monotonic() + request["wall_seconds"]
    look = shown_at = 0
    while True:
        for source, _ in poller.poll(20):
            if source == 0:
                leave()
            data = os.read(reading, PIECE)
            waiting += data
            if not data:
                poller.unregister(reading)
        if len(waiting) >= PIECE or time.monotonic() > shown_at:
            shown_at = time.monotonic() + SHOW_EVERY
            forward()
        reap()
        if ended:
            return None
        now = time.monotonic()
        if now > deadline:
            return "wall"
        if now > look:
            look = now + LOOK_EVERY
            why = overstepped()
            if why is not None:
                return why


def drain():
    global waiting
    os.set_blocking(reading, False)
    try:
        while True:
            waiting += (data := os.read(reading, PIECE))
            forward()
            if not data:
                return
    except BlockingIOError:
        return


def walk():
    found, skipped, folders = [], [], [work]
    while folders:
        try:
            entries = sorted(os.scandir(folders.pop()), key=lambda entry: entry.name)
        except OSError:
            continue  # a path that is too long, or a folder that was closed on purpose
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                found.append((entry.path, entry.stat(follow_symlinks=False).st_size))
            else:
                skipped.append(shown(entry.path))
    return sorted(found), skipped


def shown(path):
    return os.path.relpath(path, work).encode(errors="surrogateescape").decode(errors="replace")


def give(path):
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError("no file")
        name = shown(path).encode()
        frame(b"F", struct.pack(">H", len(name)), name, file.read(request["file_bytes"]))


signal.signal(signal.SIGINT, signal.SIG_DFL)  # for process 1 this is: ignore what comes from within
request = json.loads(sys.stdin.buffer.readline())
alone = os.getpid() == 1
if request["boundary"] and not alone:
    sys.exit("the supervisor is not process 1 of a namespace of its own")
if request["uid"] is not None:
    os.setgroups([])
    os.setresgid(*[request["uid"]] * 3)
    os.setresuid(*[request["uid"]] * 3)
prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, once more: a change of user clears it
prctl(4, 0)  # PR_SET_DUMPABLE: what runs as the same user cannot look in here
home = "/" if alone else tempfile.mkdtemp(prefix="perdure-code-")
work = os.path.join(home, "sandbox")
script = os.path.join(home, "tmp", "main.py")
if not alone:
    os.mkdir(work)
    os.mkdir(os.path.join(home, "tmp"))
with open(script, "w", encoding="utf-8", errors="surrogatepass") as file:
    file.write(request["code"])
reading, writing = os.pipe()
complaints, complaint = os.pipe()
main, printed, waiting, ended = None, 0, b"", {}
main = os.fork()
if main == 0:
    begin(writing, complaint)
os.close(writing)
os.close(complaint)
trouble = os.read(complaints, PIECE)
why = supervise()
stop_all()
drain()
found, skipped = walk()
size = sum(bytes for _, bytes in found)
if trouble:
    why = "setup"
elif why is None and len(found) > request["files"]:
    why = "file_count"
elif why is None and size > request["file_bytes"]:
    why = "file_bytes"
if why is None:
    for path, _ in found:
        try:
            give(path)
        except OSError:
            skipped.append(shown(path))
end = dict(ended, why=why, printed=printed, skipped=skipped[:20], file_count=len(found), file_bytes=size)
frame(b"E", json.dumps(dict(end, trouble=trouble.decode(errors="replace"))).encode())
leave()
`;
