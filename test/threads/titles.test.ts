/** Titles by a model: beside the conversation, after the first answer, and never against a person. */
import type { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest } from '../../contract/model-provider.js';
import { script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { follow, settled, threadConfig } from './thread-world.js';

/** Says what the test wants, when it wants it, per thread. */
const asked: ModelRequest[] = [];
const held = new Map<string, (answer: string | PerdureError) => void>();
const provider: ModelProvider = {
  name: 'titles',
  async *stream(request) {
    const answer = new Promise<string | PerdureError>((resolve) => held.set(request.run_id, resolve));
    asked.push(request);
    const title = await answer;
    if (typeof title !== 'string') throw title;
    yield { type: 'text', delta: title };
    yield { type: 'finish', stop_reason: 'end_turn', usage: null };
  },
};

let world: World;
beforeAll(async () => {
  const config = threadConfig({ continue_as_new_after_events: 30 });
  world = await createWorld({
    ...config,
    models: { ...config.models, titles: { provider, model: 'titles-1' } },
    threads: { title: { profile: 'titles' } },
  });
});
afterAll(() => world.end());

const answers = script(Array.from({ length: 12 }, (_, n) => ({ text: `Answer ${n + 1}.` })));

async function begin() {
  const { threads } = world.client;
  const begun = await threads.start({ agent_id: 'test.agent', messages: [answers] });
  const { thread_id } = begun;
  await settled(threads, thread_id);
  await until(() => held.has(thread_id), 'the model to be asked for a title');
  const tell = held.get(thread_id) ?? expect.fail('nobody waits for a title');
  const title = async () => (await threads.get(thread_id)).title;
  return { threads, thread_id, tell, title, reader: follow(threads, begun) };
}

/** What activities gave back, as text. */
function resultsOf(events: readonly temporal.api.history.v1.IHistoryEvent[]): string[] {
  const payloads = events.flatMap((event) => event.activityTaskCompletedEventAttributes?.result?.payloads ?? []);
  return payloads.map(({ data }) => Buffer.from(data ?? []).toString());
}

const attemptsAt = (threadId: string) => asked.filter(({ run_id }) => run_id === threadId);

describe('a title by a model', () => {
  it('is written after the first answer, once, and comes as a delta', async () => {
    const { threads, thread_id, tell, title, reader } = await begin();
    expect(await title()).toMatch(/^\{"turns"/);
    await reader.poll();
    tell(' **“A short talk.”**\nand more');
    await until(async () => (await title()) === 'A short talk', 'the title');
    expect(await reader.poll()).toMatchObject({ title: 'A short talk', status: null, messages_by_idx: {} });
    expect(attemptsAt(thread_id)[0]?.messages.at(-1)).toMatchObject({
      content: expect.stringMatching(/^The user: \{"turns".*\n\nThe assistant: Answer 1\.$/s),
    });
    await threads.send(thread_id, { message: 'more' });
    await settled(threads, thread_id);
    expect(await title()).toBe('A short talk');
    expect(attemptsAt(thread_id)).toHaveLength(1);
  });

  it('holds up no turn, and is not lost where the thread would continue as new', async () => {
    const { threads, thread_id, tell, title } = await begin();
    const handle = world.temporal.workflow.getHandle(thread_id);
    const { runId } = await handle.describe();
    const length = async () => (await handle.describe()).historyLength;
    for (let n = 2; (await length()) < 40; n++) {
      await threads.send(thread_id, { message: `question ${n}` });
      await settled(threads, thread_id);
    }
    expect((await handle.describe()).runId).toBe(runId);
    tell('Late, but here');
    await until(async () => (await title()) === 'Late, but here', 'the title');
    await until(async () => (await handle.describe()).runId !== runId, 'the thread to continue as new');
    expect(await title()).toBe('Late, but here');
  });

  it('does not replace what a person wrote meanwhile', async () => {
    const { threads, thread_id, tell, title } = await begin();
    // The execution that asked for the title: it does not continue as new before it has it.
    const { runId } = await world.temporal.workflow.getHandle(thread_id).describe();
    await threads.rename(thread_id, 'Mine');
    tell('Theirs');
    const { workflow } = world.temporal;
    const hasArrived = async () => {
      const { events } = await workflow.getHandle(thread_id, runId).fetchHistory();
      return JSON.stringify(resultsOf(events ?? [])).includes('Theirs');
    };
    await until(hasArrived, 'the model’s title to arrive');
    expect(await title()).toBe('Mine');
  });

  it('that cannot be had leaves the first message, and is not tried in later turns', async () => {
    const { threads, thread_id, tell, title } = await begin();
    const { runId } = await world.temporal.workflow.getHandle(thread_id).describe();
    const hasFailed = async () => {
      const { events } = await world.temporal.workflow.getHandle(thread_id, runId).fetchHistory();
      return events?.some((event) => event.activityTaskFailedEventAttributes != null) === true;
    };
    tell(new PerdureError('model_unauthorized', 'no key'));
    await until(hasFailed, 'the failure');
    await threads.send(thread_id, { message: 'more' });
    expect((await settled(threads, thread_id)).messages).toHaveLength(4);
    expect(await title()).toMatch(/^\{"turns"/);
    expect(attemptsAt(thread_id)).toHaveLength(1);
  });

  it('is not asked for where the thread was started with one', async () => {
    const { threads } = world.client;
    const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [answers], title: 'Given' });
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: 'more' });
    await settled(threads, thread_id);
    expect(attemptsAt(thread_id)).toEqual([]);
  });
});
