/**
 * Too much of everything, in every place (see places.ts): time, memory, processes, output, files. Each is stopped by
 * its own limit with a failure that says which, and while it goes on this machine still does other things.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { until } from '../../support/world.js';
import { closePlaces, places, startRunner } from './places.js';
import { processesWith, zombies } from './processes.js';

const MIB = 1024 * 1024;
const SMALL = {
  wall_time: '20s',
  cpu_time: '15s',
  memory_bytes: 128 * MIB,
  processes: 16,
  output_bytes: 64 * 1024,
  files: 8,
  file_bytes: 4 * MIB,
};

afterAll(closePlaces);

/** A sleep that can be told apart from all others. */
const marked = () => `${Math.floor(Math.random() * 1e6) + 1e6}.${randomUUID().replaceAll(/\D/g, '').slice(0, 8)}`;

describe.each(places)('$name', (place) => {
  it('stops an endless loop', async () => {
    const { failure } = await place.run('while True: pass', { ...SMALL, cpu_time: '1s' });
    expect(failure).toMatchObject({ kind: 'timeout', retryable: false });
    expect(failure?.message).toContain('after 1 s of computing');
  });

  it('stops a loop that ignores the signal for it', async () => {
    const code = 'import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass';
    const { failure } = await place.run(code, { ...SMALL, cpu_time: '1s' });
    expect(failure?.message).toContain('of computing');
  });

  it('stops one that waits too long, whatever signals it ignores, with what it had printed', async () => {
    const code = `
import signal, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
print("waiting")
time.sleep(1000)`;
    const { failure, live } = await place.run(code, { ...SMALL, wall_time: '1s' });
    expect(failure).toMatchObject({ kind: 'timeout', retryable: false });
    expect(failure?.message).toContain('stopped after 1 s');
    expect(failure?.message).toContain('waiting');
    expect(live.join('')).toBe('waiting\n');
  });

  it.each([
    ['at once', 'x = bytearray(10**9)'],
    ['bit by bit', 'x = []\nwhile True: x.append(bytearray(10**6))'],
    ['in a mapping that is shared', 'import mmap\nm = mmap.mmap(-1, 10**9)\nfor i in range(0, 10**9, 4096): m[i] = 1'],
    [
      'in many processes',
      'import os, time\nfor _ in range(6):\n  if os.fork() == 0:\n    x = bytearray(b"x" * (60 * 2**20))\n    time.sleep(60)\ntime.sleep(60)',
    ],
  ])('stops one that takes memory %s', async (_how, code) => {
    const { failure } = await place.run(code, SMALL);
    expect(failure?.message).toContain('more than 128 MiB of memory');
  });

  it('stops a fork bomb, and this machine goes on', async () => {
    const bomb = place.run(
      'import os\nprint("go", flush=True)\nwhile True:\n  try: os.fork()\n  except OSError: pass',
      { ...SMALL, wall_time: '3s' },
    );
    for (let turn = 0; turn < 20; turn++) await promisify(execFile)('true');
    const { failure } = await bomb;
    expect(failure?.kind).toBe('timeout');
  });

  it('has no more processes than it may', async () => {
    const code = `
import os, time
count = 0
try:
    while count < 100:
        if os.fork() == 0:
            time.sleep(60)
        count += 1
except BlockingIOError:
    pass
print(count + 1)`;
    expect((await place.run(code, SMALL)).text).toBe('16\n');
    const uncaught = 'import os, time\nwhile True:\n  if os.fork() == 0: time.sleep(60)';
    expect((await place.run(uncaught, SMALL)).failure?.message).toContain('more than 16 processes');
  });

  it('keeps the beginning of an output that is too long, and says so', async () => {
    const { text = '', live } = await place.run('for i in range(100000): print(i)', SMALL);
    const [kept = '', mark] = text.split(/(?=\[output cut)/);
    expect(mark).toBe('[output cut: it printed 588890 bytes, and the first 65536 are kept]');
    expect(kept.startsWith('0\n1\n2\n')).toBe(true);
    expect(Buffer.byteLength(live.join(''))).toBe(65_536);
    expect(kept.startsWith(live.join(''))).toBe(true);
  });

  it('stops one that prints without end', async () => {
    const { failure, live } = await place.run('while True: print("x" * 1000)', { ...SMALL, wall_time: '2s' });
    expect(failure?.kind).toBe('timeout');
    expect(live.join('').length).toBe(65_536);
  });

  it('refuses too many files, and too large ones', async () => {
    const many = await place.run('for i in range(9): open(f"{i}.txt", "w").write("x")', SMALL);
    expect(many.failure?.message).toContain('left 9 files, and 8 may come back');
    const large = await place.run('open("a.bin", "wb").write(b"x" * (5 * 2**20))', SMALL);
    expect(large.failure?.message).toContain('more than 4 MiB into its files');
    const sparse = await place.run('open("a.bin", "wb").truncate(2**40)', SMALL);
    expect(sparse.failure?.message).toContain('more than 4 MiB into its files');
    const together = await place.run('for i in range(3): open(f"{i}.bin", "wb").truncate(2 * 2**20)', SMALL);
    expect(together.failure?.message).toContain('files of 6 MiB together');
    for (const outcome of [many, large, sparse, together]) expect(outcome.files).toEqual([]);
  });

  it.each(['/sandbox', '/tmp', '/dev/shm'])('has little room in %s', async (folder) => {
    const full = await place.run(
      `
import os
file = os.open("${folder}/a", os.O_CREAT | os.O_WRONLY)
try:
    for _ in range(100): os.write(file, b"x" * 2**20)
except OSError as error:
    print(error.errno)
os.remove("${folder}/a")`,
      SMALL,
    );
    expect(full.text).toMatch(/^(27|28)\n$/);
    const names = await place.run(`for i in range(10**7): open(f"${folder}/{i}", "w").close()`, SMALL);
    expect(names.failure?.message).toMatch(/far too many files|into its files|left \d+ files/);
  });

  it('leaves no process behind: neither one in the background nor a daemon that holds on to the output', async () => {
    const mark = marked();
    const { text } = await place.run(
      `
import os, subprocess
subprocess.Popen(["sleep", "${mark}"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "${mark}"])
    os._exit(0)
print("done")`,
      SMALL,
    );
    expect(text).toBe('done\n');
    expect(processesWith(mark)).toEqual([]);
    expect(zombies()).toEqual([]);
  });
});

describe.each(places.filter(({ name }) => !name.endsWith('nobody')))('$boundary', ({ boundary }) => {
  it('leaves nothing when its worker is killed', async () => {
    const mark = marked();
    const runner = startRunner();
    const run = runner.run({ options: { boundary }, code: `import subprocess\nsubprocess.run(["sleep", "${mark}"])` });
    run.catch(() => {});
    // The program's own process is the one of them that has the mark as a word of its command line.
    await until(() => processesWith(`sleep\0${mark}`).length === 1, 'the program to run');
    runner.child.kill('SIGKILL');
    await expect(run).rejects.toThrow('the runner ended: SIGKILL');
    await until(() => processesWith(mark).length === 0, 'the sandbox to end');
  });
});
