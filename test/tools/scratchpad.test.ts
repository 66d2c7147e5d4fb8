/** The scratchpad in runs on the real server: entries, their bounds, children, threads, and what readers see. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asEntry } from '../../contract/scratchpad-entries.js';
import { linesOf, tellAll } from '../dialects/tell-all.js';
import { script } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';
import { child, inTurn, pad, toolsetConfig } from './toolset-agents.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(toolsetConfig({ folder: import.meta.dirname, fetch: {} }));
});
afterAll(() => world.end());

type Turns = Parameters<typeof script>[0];
const run = (turns: Turns) => world.run('test.desk', script(turns));
const results = async (turns: Turns) =>
  ofType(await run(turns), 'tool_result').map((event) =>
    event.status === 'error' ? `${event.failure.kind}: ${event.failure.message}` : event.content,
  );
const last = async (turns: Turns) => (await results(turns)).at(-1);

describe('entries', () => {
  it('are appended, read with their numbers, replaced one by one or all at once', async () => {
    expect(
      await results(
        inTurn(
          pad('read'),
          pad('append', { entry: '📌 Compare two harbours' }),
          pad('append', { entry: '✅ Oslo | 40 piers\n   by the handbook' }),
          pad('update', { number: 1, entry: '🔄 Compare three harbours' }),
          pad('read'),
          pad('write', { content: '📌 Begin again\nwith care\n❓ Which year?' }),
          pad('read'),
        ),
      ),
    ).toEqual([
      '❓ The scratchpad is empty.',
      'Written.',
      'Written.',
      'Written.',
      '🔄 Compare three harbours [1]\n✅ Oslo | 40 piers\n   by the handbook [2]',
      'Written: 2 entries.',
      '📌 Begin again\nwith care [1]\n❓ Which year? [2]',
    ]);
  });

  it('that are added in parallel are all kept', async () => {
    const calls = Array.from({ length: 6 }, (_, n) => pad('append', { entry: `📌 ${n}` }));
    const read = await last([{ tool_calls: calls }, { tool_calls: [pad('read')] }, { text: 'Done.' }]);
    expect(String(read).match(/📌 \d/g)?.toSorted()).toEqual(calls.map((_, n) => `📌 ${n}`));
  });

  it.each([
    ['no prefix', pad('append', { entry: 'Compare' })],
    ['another emoji', pad('append', { entry: '🙂 Compare' })],
    ['a prefix further on', pad('append', { entry: 'Note: 📌 Compare' })],
    ['nothing', pad('append', { entry: '' })],
    ['no prefix at the beginning of all', pad('write', { content: 'My plan\n📌 Compare' })],
    ['no prefix in an update', pad('update', { number: 1, entry: 'Compare' })],
  ])('with %s are refused with the list, and change nothing', async (_what, call) => {
    const first = pad('append', { entry: '📌 First' });
    const [, refused, read] = await results(inTurn(first, call, pad('read')));
    expect(refused).toBe('invalid_call: An entry begins with one of 📌 ✅ 🔄 ❓ ⚠️ ☠️. Nothing was written.');
    expect(read).toBe('📌 First [1]');
  });

  it('have the contract’s form of a prefix, however the model wrote it', () => {
    expect(asEntry('\u26a0 Rate limit')).toBe('⚠️ Rate limit');
    expect(asEntry(' \u26a0\ufe0f Rate limit ')).toBe('⚠️ Rate limit');
    expect(asEntry('\u2620Dead end')).toBe('☠️Dead end');
    expect(asEntry('\u2705\ufe0f Done')).toBe('✅ Done');
    expect(asEntry('\u2753\ufe0e Why')).toBe('❓ Why');
    expect(asEntry('Done')).toBeUndefined();
  });

  it('that are not there cannot be updated', async () => {
    expect(await last(inTurn(pad('update', { number: 1, entry: '📌 x' })))).toBe(
      'invalid_call: There is no entry 1: the scratchpad has 0.',
    );
  });

  it('are bounded in number, and a refused write leaves all as it was', async () => {
    const hundred = Array.from({ length: 100 }, (_, n) => `📌 ${n}`).join('\n');
    const [, appended, written, read] = await results(
      inTurn(
        pad('write', { content: hundred }),
        pad('append', { entry: '📌 one more' }),
        pad('write', { content: `${hundred}\n📌 one more` }),
        pad('read'),
      ),
    );
    const full = expect.stringMatching(/^denied: The scratchpad is full: it holds 100 entries.*write_scratchpad/);
    expect([appended, written]).toEqual([full, full]);
    expect(String(read).split('\n')).toHaveLength(100);
  });

  it('are bounded in size', async () => {
    const large = `📌 ${'x'.repeat(20_000)}`;
    const [, appended, updated] = await results(
      inTurn(
        pad('append', { entry: large }),
        pad('append', { entry: large }),
        pad('update', { number: 1, entry: large + large }),
        pad('append', { entry: '📌 small' }),
      ),
    );
    const full = expect.stringContaining('32000 characters');
    expect([appended, updated]).toEqual([full, full]);
  });
});

describe('in a tree', () => {
  const noted = pad('append', { entry: '📌 Above' });
  const note = (text: string) => pad('append', { entry: `✅ ${text}` });

  it('a child begins with its parent’s entries, and its new ones come back', async () => {
    const log = await run(inTurn(noted, child(inTurn(pad('read'), note('Below'))), pad('read')));
    const [link] = ofType(log, 'agent_run_started');
    expect(ofType(await world.logOf(link?.link.run_id ?? ''), 'tool_result')[0]?.content).toBe('📌 Above [1]');
    expect(ofType(log, 'tool_result').at(-1)?.content).toBe('📌 Above [1]\n✅ Below [2]');
  });

  it('also of a child that failed', async () => {
    const failing: Turns = [{ tool_calls: [note('Found before it broke')] }, { fail: { code: 'model_bad_request' } }];
    const log = await run(inTurn(noted, child(failing), pad('read')));
    const [, failed, read] = ofType(log, 'tool_result');
    expect(failed?.status).toBe('error');
    expect(read?.content).toBe('📌 Above [1]\n✅ Found before it broke [2]');
  });

  it('of two children at once, all', async () => {
    const both = [
      child(inTurn(note('one'))),
      child(inTurn(note('two'), pad('update', { number: 1, entry: '🔄 Above' }))),
    ];
    const read = await last([
      { tool_calls: [noted] },
      { tool_calls: both },
      { tool_calls: [pad('read')] },
      { text: 'Done.' },
    ]);
    expect(
      String(read)
        .replaceAll(/ \[\d\]/g, '')
        .split('\n')
        .toSorted(),
    ).toEqual(['✅ one', '✅ two', '🔄 Above']);
  });

  it('what a child wipes out is wiped out for itself alone', async () => {
    const log = await run(inTurn(noted, child(inTurn(pad('write', { content: '☠️ All wrong' }))), pad('read')));
    expect(ofType(log, 'tool_result').at(-1)?.content).toBe('📌 Above [1]\n☠️ All wrong [2]');
  });
});

it('in a thread, the next turn reads what the last one wrote', async () => {
  const { threads } = world.client;
  const turns: Turns = [
    { tool_calls: [pad('append', { entry: '📌 First turn' })] },
    { text: 'Noted.' },
    { tool_calls: [pad('read')] },
    { text: 'Read.' },
  ];
  const { thread_id } = await threads.start({ agent_id: 'test.desk', messages: [script(turns)] });
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: 'Go on.' });
  await settled(threads, thread_id);
  const log = await world.logOf(`${thread_id}/turn_2`);
  expect(ofType(log, 'tool_result')[0]?.content).toBe('📌 First turn [1]');
});

it('the lines of event_contract have the three steps, the labels, and each field where it belongs', async () => {
  const log = await run(
    inTurn(
      pad('append', { entry: '\u26a0 Slow' }),
      pad('update', { number: 1, entry: '✅ Quick' }),
      pad('write', { content: '📌 Anew' }),
      pad('read'),
      pad('append', { entry: 'Bare' }),
    ),
  );
  const lines = linesOf(tellAll('event_contract', log))
    .map(({ data }) => data as Record<string, unknown>)
    .filter(({ type }) => type === 'scratchpad_status')
    .map(({ type: _type, run_id: _run, ...rest }) => rest);
  const steps = (operation: string, tool: string, doing: string, done: string, entry: string) => [
    { operation, state: 'in_progress', tool, activity: doing, entry: null },
    { operation, state: 'success', tool: null, activity: null, entry },
    { operation, state: 'completed', tool, activity: done, entry: null },
  ];
  const updating = ['✏️ Updating scratchpad...', '✏️ Scratchpad updated.'] as const;
  expect(lines).toEqual([
    ...steps('append', 'append_scratchpad', '📝 Appending to scratchpad...', '📝 Scratchpad entry written.', '⚠️ Slow'),
    ...steps('update', 'update_scratchpad', ...updating, '✅ Quick'),
    ...steps('update', 'write_scratchpad', ...updating, '📌 Anew'),
    ...steps('read', 'read_scratchpad', '📖 Reading scratchpad...', '📖 Scratchpad read.', '📌 Anew [1]'),
    {
      operation: 'append',
      state: 'in_progress',
      tool: 'append_scratchpad',
      activity: '📝 Appending to scratchpad...',
      entry: null,
    },
    {
      operation: 'append',
      state: 'failed',
      tool: 'append_scratchpad',
      activity: 'An entry begins with one of 📌 ✅ 🔄 ❓ ⚠️ ☠️. Nothing was written.',
      entry: null,
    },
  ]);
});

it('the lines of event_contract tell an empty scratchpad with a prefix of the contract', async () => {
  const entries = linesOf(tellAll('event_contract', await run(inTurn(pad('read')))))
    .map(({ data }) => data as Record<string, unknown>)
    .flatMap(({ type, entry }) => (type === 'scratchpad_status' && typeof entry === 'string' ? [entry] : []));
  expect(entries).toEqual(['❓ The scratchpad is empty.']);
  expect(entries.map(asEntry)).toEqual(entries);
});
