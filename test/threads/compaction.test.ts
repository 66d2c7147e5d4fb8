/** Threads whose conversation no longer fits the model: a summary takes the place of the oldest turns, once. */
import { afterAll, describe, expect, it } from 'vitest';
import { isSummary } from '../../contract/compaction.js';
import type { EventOf } from '../../contract/events.js';
import type { RuntimeOptions } from '../../kit/index.js';
import { createWindowModel, tokensOf, windowConfig, WINDOW_AGENT } from '../support/window-model.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from './thread-world.js';

const WINDOW = 2_000;
const worlds: World[] = [];
async function makeWorld(runtime: RuntimeOptions = {}) {
  const model = createWindowModel(WINDOW);
  const world = await createWorld(windowConfig(model, { context_tokens: WINDOW }, runtime));
  worlds.push(world);
  const { threads } = world.client;
  const compactions = async (threadId: string, turn: number): Promise<EventOf<'context_compacted'>[]> =>
    ofType(await world.logOf(`${threadId}/turn_${turn}`), 'context_compacted');
  const say = async (threadId: string, message: string) => {
    await threads.send(threadId, { message });
    return settled(threads, threadId);
  };
  return { world, model, threads, compactions, say };
}
afterAll(() => Promise.all(worlds.map((world) => world.end())));

const question = (n: number) => `fact_${n} ${'x'.repeat(700)}`;
const facts = (n: number) => Array.from({ length: n }, (_, index) => `fact_${index + 1}`).join(' ');

describe.each([
  ['with what its worker remembers', {}],
  ['on a worker that remembers nothing', { context_cache_runs: 0 }],
  ['over continue-as-new', { continue_as_new_after_events: 40 }],
] as const)('a thread that grows beyond the window, %s,', (_, runtime) => {
  it('goes on from a summary, and all of it stays in the record', { timeout: 120_000 }, async () => {
    const { world, model, threads, compactions, say } = await makeWorld(runtime);
    const turns = 16;
    const { thread_id } = await threads.start({ agent_id: WINDOW_AGENT, messages: [question(1)] });
    const { runId } = await world.temporal.workflow.getHandle(thread_id).describe();
    await settled(threads, thread_id);
    for (let n = 2; n <= turns; n++) await say(thread_id, question(n));

    const { messages } = await threads.get(thread_id);
    expect(messages.map(({ content }) => content)).toEqual(
      Array.from({ length: turns }, (_each, n) => [
        [{ content_type: 'text', text: question(n + 1) }],
        [{ content_type: 'text', text: facts(n + 1) }],
      ]).flat(),
    );
    const counts: number[] = [];
    for (let n = 1; n <= turns; n++) counts.push((await compactions(thread_id, n)).length);
    const at = counts.flatMap((count, index) => (count > 0 ? [index + 1] : []));
    // Several times, and never in a turn that follows one that compacted.
    expect(at.length).toBeGreaterThan(1);
    expect(Math.max(...counts)).toBe(1);
    for (const [n, turn] of at.entries()) expect(turn - (at[n - 1] ?? 0)).toBeGreaterThan(2);
    for (const { messages: read } of model.requests) expect(tokensOf(read)).toBeLessThan(WINDOW);

    const [compacted] = await compactions(thread_id, at[0] ?? 0);
    expect(compacted).toMatchObject({ reason: 'window', run_messages: 0, step_id: 'step_1' });
    expect(compacted?.summary).toBe(facts((compacted?.thread_messages ?? 0) / 2));
    expect(compacted?.tokens_after).toBeLessThan((compacted?.tokens_before ?? 0) * 0.8);
    const moved = (await world.temporal.workflow.getHandle(thread_id).describe()).runId !== runId;
    expect(moved).toBe('continue_as_new_after_events' in runtime);
  });
});

describe('a compacted thread', () => {
  it('has forks: before the point with the messages themselves, after it with the summary', async () => {
    const { model, threads, compactions, say } = await makeWorld();
    const { thread_id } = await threads.start({ agent_id: WINDOW_AGENT, messages: [question(1)] });
    await settled(threads, thread_id);
    let turns = 1;
    while ((await compactions(thread_id, turns)).length === 0) await say(thread_id, question(++turns));
    const [compacted] = await compactions(thread_id, turns);
    const behind = compacted?.thread_messages ?? 0;
    expect(behind).toBeGreaterThan(2);

    const early = await threads.fork(thread_id, { message_sequence_num: behind - 3 });
    await say(early.thread_id, 'fact_early');
    const [, ...read] = model.requests.at(-1)?.messages ?? [];
    expect(read.some(isSummary)).toBe(false);
    expect(read[0]).toEqual({ role: 'user', content: question(1) });
    expect(read).toHaveLength(behind - 1);

    const asked = model.requests.length;
    const late = await threads.fork(thread_id, { message_sequence_num: turns * 2 - 1 });
    expect((await say(late.thread_id, 'fact_late')).messages.at(-1)?.content).toEqual([
      { content_type: 'text', text: `${facts(turns)} fact_late` },
    ]);
    expect(model.requests.length).toBe(asked + 1);
    expect(isSummary(model.requests.at(-1)?.messages[1] ?? expect.fail())).toBe(true);
    expect(late.messages).toHaveLength(turns * 2);
  });

  it('whose turn was too long by itself begins the next one with what is left of it', async () => {
    const { model, threads, compactions, say } = await makeWorld();
    const { thread_id } = await threads.start({ agent_id: WINDOW_AGENT, messages: ['fact_1 hello'] });
    await settled(threads, thread_id);
    const record = await say(thread_id, 'fact_2 steps=9 size=600');
    const within = await compactions(thread_id, 2);
    expect(within.length).toBeGreaterThan(0);
    expect(within.at(-1)?.run_messages).toBeGreaterThan(2);
    expect(within.at(-1)?.thread_messages).toBe(2);
    expect(record.messages).toHaveLength(3 + 9 * 2 + 1);
    const asked = model.requests.length;
    const [answer] = (await say(thread_id, 'fact_3')).messages.at(-1)?.content ?? [];
    expect(model.requests.length).toBe(asked + 1);
    const told = answer?.content_type === 'text' ? answer.text.split(' ').toSorted() : [];
    const steps = Array.from({ length: 9 }, (_, n) => `fact_s${n + 1}`);
    expect(told).toEqual(['fact_1', 'fact_2', 'fact_3', ...steps].toSorted());
    const [, summary, user, ...rest] = model.requests.at(-1)?.messages ?? [];
    expect(isSummary(summary ?? expect.fail())).toBe(true);
    expect(user).toEqual({ role: 'user', content: 'fact_2 steps=9 size=600' });
    expect(rest[0]).toMatchObject({ role: 'assistant', tool_calls: [{}] });
    expect(rest.length).toBeLessThan(18);
  });
});
