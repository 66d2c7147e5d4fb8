/** `perdure inspect` for people: what it shows of tools' outputs, and how it fits a terminal. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, finished, perdure, script, startDev } from './command.js';
import type { Dev } from './command.js';
import { sitDownAt } from './pseudo-terminal.js';

const words = 'The answer goes on for a while with words that must not be cut in two at the end of a line';

describe('perdure inspect', () => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(app);
    const calls = [
      { tool: 'test.work.repeat', args: { word: 'few ', times: 3 } },
      { tool: 'test.work.repeat', args: { word: 'line\n', times: 20 } },
      { tool: 'test.work.repeat', args: { word: 'much ', times: 30_000 } },
      { tool: 'test.work.fail' },
    ];
    const input = script({ text: `Now ${words}.`, tool_calls: calls }, { text: `${words}.` });
    await perdure(['run', 'test.script', input, '--run-id', 'long-1', ...dev.flags]).exited;
  });
  afterAll(() => dev.stop());
  const inspect = (...flags: string[]) => finished(perdure(['inspect', 'long-1', ...flags, ...dev.flags]));

  it('breaks lines between words at the width of the terminal, and nowhere on a pipe', async () => {
    const seat = sitDownAt(['inspect', 'long-1', '--outputs', ...dev.flags], { columns: 50, rows: 200 });
    expect(await seat.exited).toBe(0);
    const lines = seat.text().split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(50);
    const shown = seat.text().replaceAll(/\s+/g, ' ');
    for (const text of [`Now ${words}.`, ` ${words}.`]) expect(shown).toContain(text);
    // A terminal that breaks lines by itself would cut through words at its edge.
    for (const word of words.split(' ')) expect(lines.some((line) => line.split(/ +/).includes(word))).toBe(true);
    expect((await inspect()).stdout).toContain(`${words}.\n`);
  });

  it('shows outputs on request, the beginning of long ones with the command for all of it', async () => {
    expect((await inspect()).stdout).not.toContain('few few few');
    const { code, stdout } = await inspect('--outputs');
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ test\.work\.repeat \{"word":"few ","times":3\} {2}\d+ ms\n {6}few few few\n/);
    expect(stdout.match(/^ {6}line$/gm)).toHaveLength(12);
    expect(stdout).toMatch(/… all of it: .* inspect long-1 --tool call_1_2 --address /);
    expect(stdout).toMatch(/✗ test\.work\.fail \{\} unavailable {2}\d+ ms\n {6}unavailable: the well is dry\n/);
  });

  it.each([
    ['over Temporal', () => dev.flags],
    ['through a gateway', () => ['--url', dev.http]],
  ])('shows one call in full %s, also where the log has only a part of it', async (_how, flags) => {
    const tool = (id: string, ...more: string[]) =>
      finished(perdure(['inspect', 'long-1', '--tool', id, ...more, ...flags()]));
    const { code, stdout } = await tool('call_1_3');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^test\.work\.repeat {2}call_1_3 {2}.*\n\narguments\n\{\n {2}"word": "much ",\n {2}"times": 30000\n\}\n\noutput\n/,
    );
    expect(stdout.match(/much /g)?.length).toBe(30_000);
    const json = JSON.parse((await tool('call_1_3', '--json')).stdout) as { output: string };
    expect(json).toMatchObject({ tool_call_id: 'call_1_3', result: { status: 'success', trimmed: true } });
    expect(json.output).toBe('much '.repeat(30_000));
    const failed = await tool('call_1_4');
    expect(failed.stdout).toContain('\nfailure\nunavailable: the well is dry\n\nwhat the model reads\nunavailable: ');
  });

  it.each([
    ['a call that was not made', ['--tool', 'call_9_9'], 'it has made call_1_1, call_1_2, call_1_3, call_1_4'],
    ['outputs of the log', ['--events', '--outputs'], 'go without --events'],
    ['outputs as JSON', ['--json', '--outputs'], '--tool CALL --json'],
  ])('ends with 2 for %s', async (_what, flags, message) => {
    expect(await inspect(...flags)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  });
});
