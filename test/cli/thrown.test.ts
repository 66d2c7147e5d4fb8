/** What an application's code throws: its author sees the stack, the model and users a short message. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { debugMessage, failedCall, failedUnexpectedly } from '../../activities/thrown.js';
import { describeThrown } from '../../cli/describe-thrown.js';
import { PerdureError } from '../../contract/errors.js';
import { ToolError } from '../../kit/index.js';
import { finished, jsonLines, perdure, script, startDev, withoutServer } from './command.js';
import type { Dev } from './command.js';
import { sitDownAt } from './pseudo-terminal.js';

const breaking = join(import.meta.dirname, 'fixtures/breaking');

describe('a tool that throws', () => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(breaking);
  });
  afterAll(() => dev.stop());
  const run = (agent: string, input: string, runId: string) =>
    finished(perdure(['run', agent, input, '--json', '--run-id', runId, ...dev.flags], { cwd: breaking }));
  const call = (tool: string) => script({ tool_calls: [{ tool: `test.broken.${tool}` }] }, { text: 'I see.' });
  const events = async (runId: string, profile: string) => {
    const flags = ['--events', '--json', '--profile', profile, ...dev.flags];
    const { stdout } = await finished(perdure(['inspect', runId, ...flags], { cwd: breaking }));
    return { stdout, result: jsonLines(stdout).find(({ type }) => type === 'tool_result') };
  };
  const PLACE = 'broken.ts:3:45';

  it('shows its author which call of which run, why and where, with the author’s file on top', async () => {
    const { code, stdout } = await run('test.broken', call('once'), 'threw-1');
    expect(code).toBe(0);
    await dev.command.printed('at Object.run (perdure.config.ts');
    expect(dev.command.stderr()).toMatch(
      new RegExp(
        [
          '✗ tool test\\.broken\\.once threw \\(run threw-1, call call_1_1\\)',
          " {4}TypeError: Cannot read properties of undefined \\(reading 'price'\\)",
          ` {6}at priceOf \\(${PLACE}\\)`,
          ' {6}at Object\\.run \\(perdure\\.config\\.ts:\\d+:\\d+\\)',
          ' {6}and \\d+ more in libraries and in Perdure: --debug shows them\n',
        ].join('\n'),
      ),
    );
    // What a reader, and with it the model, gets as the result.
    const result = jsonLines(stdout).find(({ type }) => type === 'tool_result');
    const message = 'test.broken.once failed unexpectedly (TypeError).';
    expect(result).toMatchObject({
      failure: { kind: 'internal', message },
      debug_message: expect.any(String) as string,
    });
    expect(result?.['content']).toBe(`internal: ${message}\nDo not repeat the same call unchanged; find another way.`);
  });

  it('has its stack in the log, for the profile agent_debug alone', async () => {
    await run('test.broken', call('once'), 'threw-2');
    const { result } = await events('threw-2', 'agent_debug');
    expect(result?.['debug_message']).toMatch(/^TypeError: Cannot read [^]*at priceOf \(.*broken\.ts:3:45\)/);
    for (const profile of ['user_chat', 'metrics']) {
      const shown = await events('threw-2', profile);
      expect(shown.result).toMatchObject({ status: 'error' });
      expect(shown.stdout).not.toContain('broken.ts');
      expect(shown.stdout).not.toContain('debug_message":"T');
    }
  });

  it('is told once for the same error at every attempt, with its cause', async () => {
    await run('test.broken', call('thrice'), 'threw-3');
    await dev.command.printed(
      '✗ tool test.broken.thrice threw (run threw-3, call call_1_1, attempt 3): the same again',
    );
    const [, first = ''] = dev.command.stderr().split('✗ tool test.broken.thrice threw (run threw-3, call call_1_1)');
    expect(first).toMatch(
      /^\n {4}Error: the settings cannot be read\n {6}at parseSettings \(broken\.ts:\d+[^]* {4}caused by\n {4}SyntaxError: /,
    );
    expect(dev.command.stderr().match(/the settings cannot be read/g)).toHaveLength(1);
  });

  it.each([
    ['ruled', 'a rule or prompt of tool test.broken.ruled', 'A rule of test.broken.ruled failed unexpectedly'],
    ['prompted', 'a rule or prompt of tool test.broken.prompted', 'A rule of test.broken.prompted failed unexpectedly'],
    [
      'finalized',
      'finalizer of tool test.broken.finalized',
      'The finalizer of test.broken.finalized failed unexpectedly',
    ],
  ])('is treated like this where what throws is around it: %s', async (tool, what, message) => {
    const { stdout } = await run('test.broken', call(tool), `threw-${tool}`);
    await dev.command.printed(`✗ ${what} threw (run threw-${tool}, call call_1_1)`);
    const [, block = ''] = dev.command.stderr().split(`✗ ${what} threw`);
    expect(block.split('\n')[2]).toContain(`at priceOf (${PLACE})`);
    const result = jsonLines(stdout).find(({ type }) => type === 'tool_result');
    expect(result).toMatchObject({ failure: { kind: 'internal', message: expect.stringContaining(message) } });
    expect(JSON.stringify(result?.['content'])).not.toContain('broken.ts');
    expect(result?.['debug_message']).toMatch(/^TypeError: Cannot read [^]*at priceOf \(.*broken\.ts:3:45\)/);
  });

  it('is a planner, too', async () => {
    const { code } = await run('test.planned', 'hello', 'threw-planner');
    expect(code).toBe(1);
    await dev.command.printed('✗ planner of test.planned threw (run threw-planner)');
    // Whoever started it reads why, without the frames, which the worker shows.
    const { stdout } = await finished(perdure(['inspect', 'threw-planner', ...dev.flags], { cwd: breaking }));
    expect(stdout).toMatch(/internal: planning step_1 of run threw-planner, attempt 1: TypeError: Cannot read/);
    expect(stdout).not.toContain('broken.ts');
  });

  it('is shown above the live part of a run that has its own server', async () => {
    const seat = sitDownAt(['run', 'test.broken', call('once')], { cwd: withoutServer(breaking) });
    expect(await seat.exited).toBe(0);
    expect(seat.text()).toMatch(
      /✗ tool test\.broken\.once threw \(run\s+test\.broken-[^]*at priceOf \(broken\.ts[^]*I see\.[^]*✓ success/,
    );
  });
});

describe('what is said of an error', () => {
  it('is nothing of its words to the model: which tool it was, and which of the usual errors', () => {
    class CanaryError extends Error {
      override readonly name = 'CanaryError';
    }
    expect(failedUnexpectedly('a.b.c', new RangeError('canary'))).toBe('a.b.c failed unexpectedly (RangeError)');
    expect(failedUnexpectedly('a.b.c', new CanaryError('canary'))).toBe('a.b.c failed unexpectedly');
    expect(failedUnexpectedly('a.b.c', 'canary')).toBe('a.b.c failed unexpectedly');
  });

  it('is what it says itself where it was thrown on purpose', () => {
    expect(failedCall('a.b.c', new ToolError('unavailable', 'closed on Sundays'))).toEqual({
      failure: { kind: 'unavailable', message: 'closed on Sundays', issues: [], recovery: 'correct_call' },
    });
  });

  it('names no place of the deployment where the storage, the server or the database failed', () => {
    const away = new PerdureError('storage_unreachable', 's3://acme-files at 10.0.0.5:9000 gives no answer');
    const { failure, debug_message } = failedCall('a.b.c', away);
    expect(failure.message).toBe('a.b.c failed (storage_unreachable).');
    expect(debug_message).toContain('10.0.0.5:9000');
  });

  it('has no secret of the environment in it, whole or in pieces, nor in what is told to its author', () => {
    vi.stubEnv('CANARY_API_TOKEN', 'tR7wq2Zx9Lk4Vn8B');
    vi.stubEnv('CANARY_KEY_FILE', '/etc/canary/private.pem');
    vi.stubEnv('CANARY_URL', 'postgres://shop:Hx5Gd8Kp2Wm@db.test/shop');
    try {
      const error = new Error('sent tR7wq2Zx9Lk4Vn8B, then 7wq2Zx9L; read /etc/canary/private.pem; used Hx5Gd8Kp2Wm');
      const hidden = 'sent [hidden], then [hidden]; read /etc/canary/private.pem; used [hidden]';
      expect(debugMessage(error)).toContain(`Error: ${hidden}\n    at `);
      expect(describeThrown({ what: 'tool a.b.c', error })).toContain(hidden);
      expect(failedCall('x', new ToolError('internal', 'token tR7wq2Zx9Lk4Vn8B')).failure.message).toBe(
        'token [hidden]',
      );
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('is bounded in the log', () => {
    const error = Object.assign(new Error('long'), { stack: 'é'.repeat(20_000) });
    const message = debugMessage(error);
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(8 * 1024);
    expect(message).toMatch(/^é+\n…$/);
  });

  it('names what was thrown where it is no Error, and does not follow causes in a circle', () => {
    expect(describeThrown({ what: 'tool a.b.c', error: 42 })).toBe('✗ tool a.b.c threw\n    it threw no Error but: 42');
    const [one, two] = [new Error('one'), new Error('two')];
    Object.assign(one, { cause: two, stack: '' });
    Object.assign(two, { cause: one, stack: '' });
    expect(describeThrown({ what: 'x', error: one })).toBe('✗ x threw\n    Error: one\n    caused by\n    Error: two');
    expect(debugMessage(one)).toBe('\ncaused by: ');
  });
});
