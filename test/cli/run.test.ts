/** `perdure run` on a server that is there: what it shows, how it ends, and what Ctrl-C does. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findServerBinary } from '../../worker/server-binary.js';
import { app, finished, jsonLines, perdure, script, startDev } from './command.js';
import type { Dev } from './command.js';

let dev: Dev;

beforeAll(async () => {
  dev = await startDev(app);
});

afterAll(() => dev.stop());

const run = (input: string, ...flags: string[]) => perdure(['run', 'test.script', input, ...dev.flags, ...flags]);

describe('perdure run on a pipe', () => {
  it('writes thinking, tools with their progress and duration, the answer, and one last line', async () => {
    const calls = [{ tool: 'test.work.wait', args: { ms: 50 } }, { tool: 'test.work.fail' }];
    const input = script({ thinking: 'Two tools.', tool_calls: calls }, { text: 'All done.' });
    const { code, stdout } = await finished(run(input, '--run-id', 'plain-1'));

    expect(code).toBe(0);
    expect(stdout).toContain('thinking: Two tools.\n');
    expect(stdout).toContain('tool: test.work.wait {"ms":50}\n');
    expect(stdout.match(/test\.work\.wait: half way\n/g)).toHaveLength(1);
    expect(stdout).toMatch(/tool: test\.work\.wait done in \d+ ms\n/);
    expect(stdout).toMatch(/tool: test\.work\.fail failed in \d+ ms: unavailable: the well is dry\n/);
    expect(stdout.match(/All done\./g)).toHaveLength(1);
    expect(stdout).toMatch(/\n\nsuccess · 2 steps · 2 tools · \d+ tokens · [\d.]+ m?s · plain-1\n$/);
  });

  it('shows files with type and size, says where they are, and keeps copies where it is told to', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-files-'));
    const files = ['out/table.csv', '../table.csv'].map((filename) => ({ filename, content: `of ${filename}` }));
    const input = script(
      { tool_calls: files.map((args) => ({ tool: 'test.work.make_file', args })) },
      { text: 'Made.' },
    );
    const plain = await finished(run(input));
    expect(plain.stdout).toContain('file: out/table.csv (text/csv, 16 bytes)\n');
    expect(plain.stderr).toMatch(
      /out\/table\.csv is in the artefact store as art_[0-9a-f]{64}; --save-files DIR keeps/,
    );
    const saved = await finished(run(input, '--save-files', folder));
    expect(saved.stderr).toContain(`saved ${folder}/table.csv\n`);
    expect(saved.stderr).toContain(`saved ${folder}/table-2.csv\n`);
    expect(await readdir(folder)).toEqual(['table-2.csv', 'table.csv']);
    expect(await readFile(join(folder, 'table.csv'), 'utf8')).toMatch(/^of (out|\.\.)\/table\.csv$/);
    const through = perdure(['run', 'test.script', input, '--url', dev.http, '--save-files', folder]);
    expect((await finished(through)).stderr).toContain(`saved ${folder}/table-3.csv\n`);
    await rm(folder, { recursive: true });
  });

  it('lets no control sequence of a model or a tool through, nor does any command that shows the run', async () => {
    const evil = `a\x1b]0;title\x07b\x1b]52;c;c3RvbGVu\x1b\\c\x1b[31md\u009b2Je\u009d0;x\u009cf\x7f`;
    const file = { filename: `${evil}.csv`, content: 'x' };
    const input = script(
      {
        thinking: evil,
        tool_calls: [
          { tool: 'test.work.make_file', args: file },
          { tool: evil, args: { evil } },
        ],
      },
      { text: `${evil} and\tso on.` },
    );
    const id = 'hostile-1';
    const outputs = [await finished(run(input, '--run-id', id)), await finished(run(input, '--json'))];
    for (const command of [['inspect', id], ['inspect', id, '--events'], ['tree', id, '--no-follow'], ['ls']]) {
      for (const json of [[], ['--json']]) outputs.push(await finished(perdure([...command, ...json, ...dev.flags])));
    }
    for (const { code, stdout, stderr } of outputs) {
      expect(code).toBe(0);
      // oxlint-disable-next-line no-control-regex -- these must not be there
      expect(stdout + stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }
    expect(outputs[0]?.stdout).toContain('\nabcdef and\tso on.\n');
    const told = jsonLines(outputs[1]?.stdout ?? '').find(({ type }) => type === 'summary_final');
    expect(told?.['text']).toBe(`${evil} and\tso on.`);
  });

  it('says that an attempt was retracted and writes the answer again', async () => {
    const attempts = [{ fail: { code: 'model_stream_cut', after_deltas: 2 } }, { text: 'The right answer.' }];
    const { code, stdout } = await finished(run(script({ text: 'The wrong one.', delay_ms: 300, attempts })));

    expect(code).toBe(0);
    expect(stdout).toMatch(
      /The wrong\n\[attempt 1 was retracted: what it wrote above is void\]\n\nThe right answer\.\n/,
    );
  });

  it('reads the prompt from stdin when it is -', async () => {
    const command = perdure(['run', 'test.script', '-', ...dev.flags], { stdin: script({ text: 'From stdin.' }) });
    expect(await finished(command)).toMatchObject({ code: 0, stdout: expect.stringContaining('From stdin.') });
  });

  it('stops at --max-steps with a synthesis', async () => {
    const input = JSON.stringify({
      turns: [{ tool_calls: [{ tool: 'test.work.wait', args: { ms: 1 } }] }],
      synthesis: { text: 'As far as I got.' },
    });
    const { code, stdout } = await finished(run(input, '--max-steps', '1'));
    expect(code).toBe(0);
    expect(stdout).toContain('the limit max_steps says stop (1 of 1 used)');
    expect(stdout.match(/As far as I got\./g)).toHaveLength(1);
  });
});

describe('perdure run --json', () => {
  it('writes every event as a line of JSON, live ones too, and nothing else on stdout', async () => {
    const text = 'One two three four five six seven.';
    const { code, stdout } = await finished(run(script({ text, delay_ms: 100 }), '--json'));
    const events = jsonLines(stdout);
    const durable = events.filter((event) => 'seq' in event);

    expect(code).toBe(0);
    expect(durable.map((event) => event['seq'])).toEqual(durable.map((_, index) => index));
    expect(events[0]).toMatchObject({ type: 'run_started', seq: 0 });
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', status: 'success', answer: text });
    const chunks = events.filter((event) => event['type'] === 'text_chunk').map((event) => event['text']);
    // The reader polls: what it had not heard when the block was closed comes with the closing event.
    expect(chunks.length).toBeGreaterThan(0);
    expect(text.startsWith(chunks.join(''))).toBe(true);
  });
});

describe('the exit code', () => {
  it('is 1 when the run failed, with the failure', async () => {
    const { code, stdout } = await finished(run(script({ fail: { code: 'model_bad_request' } })));
    expect(code).toBe(1);
    expect(stdout).toContain('model_bad_request: ');
    expect(stdout).toMatch(/\nfailed · 1 step · /);
  });

  it('is 2 when the workers have no such agent, and says which they have, and where they were started', async () => {
    const { code, stdout, stderr } = await finished(perdure(['run', 'test.nobody', 'hello', ...dev.flags]));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`${dev.address} serves test.script, test.other (started in ${app}), not "test.nobody".`);
  });

  it('is 1 when nobody here can say whom the workers serve, and the run fails for it', async () => {
    const env = { XDG_CACHE_HOME: dev.dataDir };
    const { code, stdout } = await finished(perdure(['run', 'test.nobody', 'hello', ...dev.flags], { env }));
    expect(code).toBe(1);
    expect(stdout).toContain('unknown_agent: ');
    expect(stdout).toContain('there are: test.script, test.other');
  });

  it.each([
    ['an agent id that is none', ['run', 'nobody', 'hello'], 'not "nobody"'],
    ['a missing prompt', ['run', 'test.script'], "missing required argument 'prompt'"],
    ['an option that does not exist', ['dev', '--https-port', '2700'], "unknown option '--https-port'"],
    ['a number that is none', ['run', 'a.b', 'x', '--max-steps', 'many'], '--max-steps'],
    ['an empty stdin', ['run', 'a.b', '-'], 'nothing came from stdin'],
    ['a namespace that does not exist', ['run', 'a.b', 'x', '--namespace', 'nowhere'], 'no namespace "nowhere"'],
  ])('is 2 for %s, without a stack', async (_what, args, message) => {
    const { code, stdout, stderr } = await finished(perdure([...args, ...dev.flags]));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it('is 2 when the run id is taken', async () => {
    expect(await finished(run(script({ text: 'First.' }), '--run-id', 'twice'))).toMatchObject({ code: 0 });
    const second = await finished(run(script({ text: 'Second.' }), '--run-id', 'twice'));
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('there is a run "twice" already') });
  });

  it('is 4 when the run is terminated from outside, and inspect says so', async () => {
    const command = run(script({ text: 'I begin', hang: true }), '--run-id', 'terminated-1');
    await command.printed('begin');
    const { path } = await findServerBinary({ env: process.env, report: () => {} });
    await promisify(execFile)(path, ['workflow', 'terminate', '-w', 'terminated-1', '--address', dev.address]);
    const { code, stdout } = await finished(command);

    expect(code).toBe(4);
    expect(stdout).toContain('ended in the engine as TERMINATED');
    const inspected = await finished(perdure(['inspect', 'terminated-1', ...dev.flags]));
    expect(inspected).toMatchObject({ code: 0, stdout: expect.stringMatching(/status {3}✗ terminated/) });
    const events = await finished(perdure(['inspect', 'terminated-1', '--events', '--json', ...dev.flags]));
    expect(jsonLines(events.stdout).at(-1)).toMatchObject({ type: 'stream_ended', reason: 'terminated' });
  });

  it('is 5 when the server that was named cannot be reached, and no other is started', async () => {
    const { code, stdout, stderr } = await finished(perdure(['run', 'a.b', 'x', '--address', '127.0.0.1:1']));
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toContain('no Temporal server can be reached at 127.0.0.1:1 (from --address)');
    expect(stderr).not.toContain('starting a Temporal server');
  });
});

describe('Ctrl-C', () => {
  it('cancels the run with a reason and waits for its end', async () => {
    const command = run(script({ text: 'I begin', hang: true }), '--run-id', 'canceled-1', '--json');
    await command.printed('text_chunk');
    command.signal('SIGINT');
    const { code, stdout, stderr } = await finished(command);

    expect(code).toBe(3);
    expect(stderr).toContain('canceling: waiting for the run to end; Ctrl-C again detaches');
    expect(jsonLines(stdout).at(-1)).toMatchObject({
      type: 'run_completed',
      status: 'canceled',
      cancellation: { reason: 'user_requested', note: 'Ctrl-C' },
    });
  });

  it('detaches the second time, from a run that goes on, and says how to look at it again', async () => {
    // Nobody serves this queue, so the cancel has no end to wait for.
    const flags = ['--task-queue', 'nobody', '--run-id', 'detached-1'];
    const command = run(script({ text: 'Never.' }), ...flags);
    await command.printed('no worker polls the task queue "nobody" in the namespace "default"');
    command.signal('SIGINT');
    await command.printed('canceling');
    command.signal('SIGINT');
    const { code, stderr } = await finished(command);

    expect(code).toBe(130);
    expect(stderr).toMatch(/Detached: detached-1 goes on without us.*npx perdure inspect detached-1 --address /);
  });

  it('is not needed where nobody reads any more: the command detaches', async () => {
    const command = run(script({ text: 'word '.repeat(40), delay_ms: 50 }), '--run-id', 'unread-1', '--json');
    await command.printed('text_chunk');
    command.closeOutput();
    const { code, stderr } = await finished(command);
    expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining('Detached: unread-1 goes on') });
  });

  it('before there is a run ends the command at once', async () => {
    const command = perdure(['run', 'test.script', '-', ...dev.flags]);
    command.signal('SIGINT');
    // The signal may come before the command listens for it.
    expect([130, -1]).toContain(await command.exited);
  });
});

describe('perdure inspect', () => {
  const calls = [{ tool: 'test.work.wait', args: { ms: 30 } }, { tool: 'test.work.fail' }];
  const inspect = (...flags: string[]) => finished(perdure(['inspect', 'inspected-1', ...dev.flags, ...flags]));

  beforeAll(async () => {
    await run(script({ tool_calls: calls }, { text: 'The answer.' }), '--run-id', 'inspected-1').exited;
  });

  it('shows phase, steps, tools with durations and failures, usage and the answer', async () => {
    const { code, stdout } = await inspect();
    expect(code).toBe(0);
    expect(stdout).toContain('test.script  inspected-1');
    expect(stdout).toContain('✓ success, phase completed');
    expect(stdout).toContain('2 model calls, 2 tool calls');
    expect(stdout).toMatch(/✓ test\.work\.wait \{"ms":30\} {2}\d+ ms/);
    expect(stdout).toMatch(/✗ test\.work\.fail \{\} unavailable {2}\d+ ms/);
    expect(stdout).toMatch(/The answer\.\n$/);
  });

  it('gives the snapshot with --json', async () => {
    const { stdout } = await inspect('--json');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success', phase: 'completed', answer: 'The answer.' });
  });

  it('gives the log with --events, as JSON lines with --json', async () => {
    const [lines, raw] = await Promise.all([inspect('--events'), inspect('--events', '--json')]);
    const events = jsonLines(raw.stdout);
    expect(events.map((event) => event['seq'])).toEqual(events.map((_, index) => index));
    expect(lines.stdout.trimEnd().split('\n')).toHaveLength(events.length);
    expect(lines.stdout).toMatch(/^ +0 {2}[\d:.]+ {2}run_started +\{"turns"/);
    expect(lines.stdout).toMatch(/ run_completed +success, 2 model calls/);
  });

  it('ends with 2 for a run that does not exist', async () => {
    const { code, stderr } = await finished(perdure(['inspect', 'no-such-run', ...dev.flags]));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('there is no run "no-such-run"') });
  });
});
