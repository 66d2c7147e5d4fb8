/**
 * Ways out of the sandbox, each tried in every place (see places.ts). A program prints what it could do; the test says
 * what it must not have been able to. Time, memory and other amounts are in amounts.test.ts.
 */
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundaries, closePlaces, places } from './places.js';
import type { Place } from './places.js';

const SECRET = 'sesame-of-the-worker-4711';
const repository = join(import.meta.dirname, '../../..');
let folder = '';
let connections = 0;
const servers: Server[] = [];

beforeAll(async () => {
  process.env['WORKER_SECRET'] = SECRET;
  folder = mkdtempSync(join(tmpdir(), 'perdure-escape-'));
  writeFileSync(join(folder, 'secret.txt'), SECRET);
  for (const where of [{ host: '0.0.0.0', port: 0 }, { path: join(folder, 'socket') }, { path: '\0perdure-escape' }]) {
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(where, resolve));
    servers.push(server);
  }
});

afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
  delete process.env['WORKER_SECRET'];
  closePlaces();
});

it('has at least one boundary to try', () => {
  expect(boundaries).not.toEqual([]);
});

/** Runs each expression by itself; what did not raise is printed as DONE. */
async function attempts(place: Place, expressions: readonly string[], preamble = ''): Promise<string[]> {
  const code = `
import ctypes, os, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
${preamble}
for expression in ${JSON.stringify(expressions)}:
    try:
        print("DONE", expression, repr(eval(expression))[:200])
    except Exception as error:
        print("REFUSED", expression, type(error).__name__)
print("END")
`;
  const { text = '', failure } = await place.run(code);
  expect(failure).toBeUndefined();
  expect(text.trimEnd().endsWith('END')).toBe(true);
  return text.split('\n').filter((line) => line.startsWith('DONE'));
}

describe.each(places)('$name', (place) => {
  it('cannot read what is not its own', async () => {
    const paths = [
      '/etc/shadow',
      '/etc/passwd',
      '/root/.bashrc',
      '/proc/1/environ',
      '/proc/1/mem',
      '/proc/1/maps',
      '/dev/vda',
      '/dev/sda',
      '/dev/mem',
      '/dev/kmsg',
      '/proc/kcore',
      '/sys/kernel',
      '/run',
      '/var',
      '/home',
      join(repository, 'package.json'),
      join(folder, 'secret.txt'),
      folder,
    ];
    const opened = await attempts(
      place,
      paths.map(
        (path) =>
          `os.listdir(${JSON.stringify(path)}) if os.path.isdir(${JSON.stringify(path)}) else open(${JSON.stringify(path)}, "rb").read(10)`,
      ),
    );
    expect(opened).toEqual([]);
  });

  it('cannot write anywhere but in its own folders', async () => {
    const before = readFileSync('/usr/bin/env').length;
    const paths = [
      '/x',
      '/usr/x',
      '/usr/bin/x',
      '/usr/bin/env',
      '/usr/lib/x',
      '/etc/x',
      '/etc/ld.so.cache',
      '/dev/x',
      '/root/x',
      '/proc/sys/kernel/core_pattern',
      '/proc/sysrq-trigger',
      '/proc/1/oom_score_adj',
      `${repository}/x`,
    ];
    const written = await attempts(place, [
      ...paths.map((path) => `open(${JSON.stringify(path)}, "ab").write(b"")`),
      'open(sys.executable, "ab")',
      'open(os.__file__, "ab")',
      'os.chmod("/usr/bin/env", 0o777)',
      'os.mkdir("/usr/lib/x")',
      'os.rename("/usr/bin/env", "/usr/bin/env2")',
    ]);
    expect(written).toEqual([]);
    expect(readFileSync('/usr/bin/env').length).toBe(before);
  });

  it('sees nothing of the worker’s environment', async () => {
    const { text = '' } = await place.run(`
import glob, os
print(sorted(os.environ))
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        data = open(path, "rb").read()
        print(path, b"${SECRET}" in data, b"WORKER" in data)
    except PermissionError:
        print(path, "closed")
`);
    const names = ['HOME', 'LANG', 'MPLBACKEND', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PATH'];
    const more = ['PYTHONDONTWRITEBYTECODE', 'PYTHONPATH', 'TZ', 'USER'];
    expect(text.split('\n')[0]).toBe(`[${[...names, ...more].map((name) => `'${name}'`).join(', ')}]`);
    expect(text).not.toContain('True');
  });

  it('sees no process but its own, and cannot touch the first', async () => {
    const { text } = await place.run(`
import os, signal
print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [1, os.getpid()], os.getppid())
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    os.kill(1, number)
for path in ("/proc/1/fd", "/proc/1/cwd", "/proc/1/root", "/proc/1/ns/net"):
    try:
        print("DONE", path, os.listdir(path))
    except OSError as error:
        print("refused")
print("still here")
`);
    expect(text).toBe(`True 1\n${'refused\n'.repeat(4)}still here\n`);
  });

  it('reaches no network, no socket of the machine and no resolver', async () => {
    const { port } = (servers[0] as Server).address() as AddressInfo;
    const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
    const before = connections;
    const targets = ['127.0.0.1', '0.0.0.0', ...addresses.filter((address) => !address.includes(':'))];
    const reached = await attempts(place, [
      ...targets.map((address) => `socket.create_connection((${JSON.stringify(address)}, ${port}), 2)`),
      `socket.create_connection(("::1", ${port}), 2)`,
      'socket.create_connection(("169.254.169.254", 80), 2)',
      'socket.getaddrinfo("example.com", 80)',
      'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53))',
      `socket.socket(socket.AF_UNIX).connect(${JSON.stringify(join(folder, 'socket'))})`,
      'socket.socket(socket.AF_UNIX).connect("\\0perdure-escape")',
      'socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)',
      'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)',
      'socket.socket(socket.AF_PACKET, socket.SOCK_RAW)',
      'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)',
    ]);
    expect(reached).toEqual([]);
    expect(connections).toBe(before);
  });

  it('gains no rights: no other user, namespace, mount, module or key', async () => {
    const gained = await attempts(place, [
      'os.setuid(0)',
      'os.setresuid(0, 0, 0)',
      'os.setgid(0)',
      'os.setgroups([0])',
      'call("unshare", 0x10000000)', // a user namespace
      'call("unshare", 0x00020000)', // a mount namespace
      'call("syscall", 56, 0x10000000 | 17, 0, 0, 0, 0)',
      'call("mount", b"none", b"/tmp", b"tmpfs", 0, None)',
      'call("umount2", b"/proc", 2)',
      'os.chroot("/tmp")',
      'call("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0)',
      'call("ptrace", 16, 1, 0, 0)', // attach
      'call("ptrace", 0, 0, 0, 0)', // trace me
      'call("syscall", 250, 0, -3, 0)', // keyctl
      'call("syscall", 321, 0, 0, 0)', // bpf
      'call("syscall", 425, 1, 0)', // io_uring_setup
      'os.memfd_create("x")',
      'call("shmget", 0, 4096, 0o1600)',
      'os.mknod("disk", 0o60600, os.makedev(254, 0))',
      'os.nice(-5)',
      'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))',
      '__import__("resource").setrlimit(__import__("resource").RLIMIT_NPROC, (1000, 1000))',
      'os.link("/usr/bin/env", "/sandbox/env")',
      'open("/proc/sys/user/max_user_namespaces", "w").write("1000")',
      'subprocess.run(["mount", "-t", "tmpfs", "none", "/tmp"], check=True, capture_output=True)',
      'subprocess.run(["su", "-c", "id"], check=True, capture_output=True, stdin=subprocess.DEVNULL)',
    ]);
    expect(gained).toEqual([]);
  });

  it('has three descriptors, and what it writes to them is output and nothing else', async () => {
    const { text, files } = await place.run(`
import os
open_ones = []
for number in range(3, 256):
    try:
        os.write(number, b"x")
        open_ones.append(number)
    except OSError:
        pass
print(open_ones, os.read(0, 1))
os.write(1, b"F\\x00\\x00\\x00\\x06\\x00\\x01axyz")
os.write(2, b"E\\x00\\x00\\x00\\x02{}")
`);
    expect(text).toBe("[] b''\nF\0\0\0\u0006\0\u0001axyzE\0\0\0\u0002{}");
    expect(files).toEqual([]);
  });

  it('gives back no file through a link, a pipe or a device', async () => {
    const { text = '', files } = await place.run(`
import os, socket
os.symlink("/etc/passwd", "passwd.txt")
os.symlink(${JSON.stringify(join(folder, 'secret.txt'))}, "secret.txt")
os.symlink("/proc/1/environ", "environ.txt")
os.symlink("/usr/lib", "folder")
os.symlink("own.txt", "inside.txt")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
open("own.txt", "w").write("mine")
`);
    expect(files).toEqual([{ filename: 'own.txt', mime_type: 'text/plain', content: 'mine' }]);
    expect(text).toContain(
      '[left out, since these are no readable files: environ.txt, fifo, folder, inside.txt, passwd.txt',
    );
  });
});
