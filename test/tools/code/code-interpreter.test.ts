/** What a program's author gets: output, errors, files, an end. What it may not do is in escapes and amounts. */
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../../kit/index.js';
import { scripted } from '../../../providers/index.js';
import { codeInterpreter } from '../../../tools/index.js';
import { createWorld, until } from '../../support/world.js';
import { boundaries, startRunner } from './places.js';
import { processesWith } from './processes.js';
import { createTool, runCode } from './run-code.js';

const tool = createTool({});
const run = (code: string) => runCode(tool, code);

describe('a program', () => {
  it('prints to both streams in order, piece by piece', async () => {
    const { text, live, progress } = await run(
      'import sys\nfor i in range(3):\n  print("out", i)\n  print("err", i, file=sys.stderr)\nprint("é✓", end="")',
    );
    expect(text).toBe('out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\né✓');
    expect(live.join('')).toBe(text);
    expect(progress).toEqual(['Starting a sandbox...', 'Executing Python script...']);
  });

  it.each([
    [
      '1 / 0',
      /^Traceback .*\n {2}File "\/tmp\/main\.py", line 1, in <module>\n[^]*ZeroDivisionError: division by zero\n\[exit code 1\]$/,
    ],
    ['print("a"', /SyntaxError: '\(' was never closed\n\[exit code 1\]$/],
    ['raise SystemExit(3)', /^\[exit code 3\]$/],
    ['import os; os.abort()', /\[the program was ended by SIGABRT\]$/],
    ['import os, signal; os.kill(os.getpid(), signal.SIGKILL)', /^\[the program was ended by SIGKILL\]$/],
    ['pass', /^\[no output\]$/],
    ['import sys; sys.stdout.buffer.write(b"\\xff\\xfe ok")', /^\ufffd\ufffd ok$/],
  ])('%s is a result that the model can read', async (code, expected) => {
    const { text, failure } = await run(code);
    expect(failure).toBeUndefined();
    expect(text).toMatch(expected);
  });

  it('gives its files with their type, also from folders; a module that it writes can be imported', async () => {
    const { text, files } = await run(`
import os
os.makedirs("data/deep")
open("data/deep/table.csv", "w").write("a,b")
open("chart.png", "wb").write(bytes(range(256)))
open("NAMELESS", "w").close()
open("helper.py", "w").write("x = 42")
import helper
print(helper.x)
open("/tmp/kept-to-itself", "w").write("x")`);
    expect(files).toEqual([
      { filename: 'NAMELESS', mime_type: 'application/octet-stream', content: '' },
      { filename: 'chart.png', mime_type: 'image/png', content: String.fromCharCode(...Array(256).keys()) },
      { filename: 'data_deep_table.csv', mime_type: 'text/csv', content: 'a,b' },
      { filename: 'helper.py', mime_type: 'text/x-python', content: 'x = 42' },
    ]);
    expect(text).toContain(
      '42\n[files: NAMELESS (application/octet-stream, 0 bytes), chart.png (image/png, 256 bytes)',
    );
  });

  it('starts from nothing, each time', async () => {
    await run('open("left.txt", "w").write("x")\nopen("/tmp/left.txt", "w").write("x")');
    expect((await run('import os\nprint(os.listdir("."), os.listdir("/tmp"))')).text).toBe("[] ['main.py']\n");
  });

  it('uses several processes', async () => {
    const code = 'from multiprocessing import Pool\nwith Pool(3) as pool: print(pool.map(abs, [-1, -2, -3]))';
    expect((await run(code)).text).toBe('[1, 2, 3]\n');
  });
});

describe.each(boundaries)('aborted, with %s', (boundary) => {
  it('ends with all its processes', async () => {
    const mark = `1000.${Math.floor(Math.random() * 1e9)}`;
    const abort = new AbortController();
    const code = `import subprocess\nsubprocess.Popen(["sleep", "${mark}"])\nsubprocess.run(["sleep", "${mark}"])`;
    const ended = runCode(createTool({ boundary }), code, { signal: abort.signal });
    await until(() => processesWith(`sleep\0${mark}`).length === 2, 'both to run');
    abort.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    await until(() => processesWith(mark).length === 0, 'all to be gone');
  });
});

describe('without a boundary', () => {
  const NONE = 'none_i_accept_that_model_code_runs_as_this_user';

  it('a worker does not start, and says what is missing', async () => {
    const tools = [codeInterpreter({ python: '/nowhere/python3' })];
    const config = {
      agents: [defineAgent({ agent_id: 'test.coder', instructions: 'Compute.', tools })],
      models: { script: { provider: scripted({ turns: [] }), model: 'scripted-1' } },
    };
    await expect(createWorld(config)).rejects.toThrow(
      /cannot run all of its tools:\n {2}code\.python\.code_interpreter: .*"\/nowhere\/python3" is no Python that can be run/,
    );
  });

  it.skipIf(!boundaries.includes('bubblewrap') || process.getuid?.() !== 0)(
    'neither is taken where the kernel gives none: each is named with its reason, and what to install',
    async () => {
      // A user who may make no namespaces of any kind.
      const closed = [
        'bwrap',
        '--unshare-user',
        '--disable-userns',
        '--uid',
        '1000',
        '--gid',
        '1000',
        '--dev-bind',
        '/',
        '/',
      ];
      const runner = startRunner({ uid: 65_534, gid: 65_534 }, closed);
      await expect(runner.run({ options: { python: '/usr/bin/python3' }, code: 'print(1)' })).rejects.toThrow(
        /cannot be enabled.*bubblewrap: .+; unshare: .+Install bubblewrap/,
      );
      runner.child.stdin.end();
    },
  );

  it('runs where the operator accepts that in so many words, and leaves nothing', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('perdure-code-'));
    const open = createTool({ boundary: NONE });
    const { text, files } = await runCode(
      open,
      'import os\nopen("a.txt", "w").write("x")\nprint(sorted(os.environ)[:2])',
    );
    expect(text).toBe("['HOME', 'LANG']\n[files: a.txt (text/plain, 1 bytes)]");
    expect(files).toHaveLength(1);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('perdure-code-'))).toEqual(before);
  });
});

describe('many programs', () => {
  it('of one org leave room for another, and one too many is refused with the wait', { timeout: 120_000 }, async () => {
    const shared = createTool({ max_programs: 2, max_waiting_per_org: 17, limits: { wall_time: '5s' } });
    await runCode(shared, 'print(1)');
    const stop = new AbortController();
    const { signal } = stop;
    let isStarted = () => {};
    const started = new Promise<void>((resolve) => (isStarted = resolve));
    const hostile = Array.from({ length: 18 }, () =>
      runCode(shared, 'print("on", flush=True)\nwhile True: pass', { org_id: 'org-a', signal, onLive: isStarted }),
    );
    let stopped = 0;
    const ended = Promise.allSettled(hostile.map((each) => each.finally(() => (stopped += 1))));
    await started;
    expect((await runCode(shared, 'print(1)', { org_id: 'org-a' })).failure).toMatchObject({
      kind: 'rate_limited',
      message: expect.stringMatching(
        /busy with other programs: 17 wait already\. There may be room in about \d+ s\.$/,
      ) as string,
    });
    expect((await runCode(shared, 'print("harmless")', { org_id: 'org-b' })).text).toBe('harmless\n');
    // In its turn, it would have waited for most of them.
    expect(stopped).toBeLessThan(6);
    stop.abort(new Error('enough'));
    await ended;
  });
});

describe('limits that make no sense', () => {
  it('are refused, also those of programs at the same time', () => {
    const options = { max_programs: 0, max_programs_per_org: 0.5, max_waiting_per_org: -1 };
    expect(() => codeInterpreter(options)).toThrow(
      /max_programs 0 .*max_programs_per_org 0\.5 .*max_waiting_per_org -1/,
    );
  });

  it('are refused, all at once', () => {
    const limits = { wall_time: 'soon', cpu_time: 10, memory_bytes: 1, processes: 1.5, files: -1 };
    expect(() => codeInterpreter({ limits })).toThrow(
      /limits\.wall_time "soon".*limits\.cpu_time "10".*limits\.memory_bytes 1 .*limits\.processes 1\.5.*limits\.files -1/,
    );
  });
});
