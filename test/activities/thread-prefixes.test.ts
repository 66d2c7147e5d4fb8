/** The conversation of a thread as a turn's model call gets it: where it comes from is in `asks-no-worker.test.ts`. */
import type { Context } from '@temporalio/activity';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createThreadPrefixes } from '../../activities/thread-prefixes.js';
import { makePage } from '../../contract/pages.js';
import type { PageRequest } from '../../contract/pages.js';
import { contextOf } from '../../contract/thread-context.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { defineAgent } from '../../kit/index.js';
import { scripted } from '../../providers/index.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';

const said = (n: number): AgentMessage => ({
  role: 'user',
  content: [{ content_type: 'text', text: `message ${n} ${'x'.repeat(1_000)}` }],
  status: 'completed',
  created: '2026-03-01T10:00:00.000Z',
});

const textOf = ({ content }: AgentMessage) => content.map((block) => ('text' in block ? block.text : '')).join('');

/** A thread with that many messages, whose history tells nothing, and what is asked of it. */
function threadOf(count: number) {
  const whole = contextOf(Array.from({ length: count }, (_, n) => said(n)));
  const reads: PageRequest[] = [];
  const query = async (_name: string, request: PageRequest) => {
    reads.push(request);
    return makePage(whole.messages.length, (index) => JSON.stringify(whole.messages[index]), request);
  };
  const client = {
    options: { namespace: 'default' },
    withDeadline: <T>(_at: number, ask: () => Promise<T>) => ask(),
    workflowService: { getWorkflowExecutionHistoryReverse: async () => ({ history: { events: [] } }) },
    workflow: { getHandle: () => ({ query }), options: { loadedDataConverter: { payloadCodecs: [] } } },
  };
  const context = { client } as unknown as Context;
  const prefix = (length: number) => {
    const { digest } = contextOf(Array.from({ length }, (_, n) => said(n)));
    return { thread_id: 'thr_1', length, digest };
  };
  return { context, reads, prefix, whole };
}

describe('the prefixes of threads, where only a query can tell,', () => {
  it('are read once, and then only what is new', async () => {
    const { context, reads, prefix, whole } = threadOf(100);
    const prefixes = createThreadPrefixes(10);
    expect(await prefixes.load(prefix(60), 'thr_1/turn_2', context)).toEqual(whole.messages.slice(0, 60));
    const before = reads.length;
    expect(await prefixes.load(prefix(60), 'thr_1/turn_2', context)).toHaveLength(60);
    expect(reads).toHaveLength(before);
    expect(await prefixes.load(prefix(90), 'thr_1/turn_2', context)).toEqual(whole.messages.slice(0, 90));
    expect(reads.slice(before).every(({ from }) => from >= 60)).toBe(true);
    // An earlier turn, tried again on a worker that has seen a later one.
    expect(await prefixes.load(prefix(30), 'thr_1/turn_2', context)).toEqual(whole.messages.slice(0, 30));
  });

  it('are read each time where nothing is kept', async () => {
    const { context, reads, prefix } = threadOf(5);
    const prefixes = createThreadPrefixes(0);
    await prefixes.load(prefix(5), 'thr_1/turn_2', context);
    await prefixes.load(prefix(5), 'thr_1/turn_2', context);
    expect(reads.map(({ from }) => from)).toEqual([0, 0]);
  });

  it('are known without a word to anybody where this worker ended the turn before', async () => {
    const { prefix, whole } = threadOf(3);
    const asksNobody = { client: undefined } as unknown as Context;
    const prefixes = createThreadPrefixes(10);
    const turn = (n: number) => ({ input: textOf(said(n)), collected: { messages: [], goals: [] } });
    prefixes.begin('thr_1', 'thr_1/turn_1');
    prefixes.ended('thr_1', 'thr_1/turn_1', turn(0));
    expect(await prefixes.load(prefix(1), 'thr_1/turn_2', asksNobody)).toEqual(whole.messages.slice(0, 1));
    // Another worker ended that one, as far as this one knows: what was said in it is not known here.
    prefixes.ended('thr_1', 'thr_1/turn_3', turn(9));
    prefixes.ended('thr_1', 'thr_1/turn_2', turn(1));
    expect(await prefixes.load(prefix(2), 'thr_1/turn_3', asksNobody)).toEqual(whole.messages.slice(0, 2));
    await expect(prefixes.load(prefix(3), 'thr_1/turn_4', asksNobody)).rejects.toThrow(TypeError);
  });

  it('that differ from what the turn was given are refused', async () => {
    const { context, prefix } = threadOf(20);
    const prefixes = createThreadPrefixes(10);
    const other = { ...prefix(10), digest: '0123456789abcdef' };
    await expect(prefixes.load(other, 'thr_1/turn_2', context)).rejects.toMatchObject({ code: 'context_mismatch' });
    await expect(prefixes.load(prefix(30), 'thr_1/turn_2', context)).rejects.toMatchObject({
      code: 'context_mismatch',
    });
  });
});

describe('a turn', () => {
  let world: World;
  const provider = scripted({
    turns: [
      { thinking: 'hm', tool_calls: [{ tool: 'test.none.x', args: { a: 1 } }] },
      { text: 'One.' },
      { text: 'Two.' },
    ],
  });
  beforeAll(async () => {
    world = await createWorld({
      models: { only: { provider, model: 'scripted-1' } },
      agents: [defineAgent({ agent_id: 'test.reader', instructions: 'Read.' })],
    });
  });
  afterAll(() => world.end());

  it('is given what was said before it, and its run’s history holds only what is new', async () => {
    const { threads } = world.client;
    const opening = `hello ${'there '.repeat(2_000)}`;
    const { thread_id } = await threads.start({ agent_id: 'test.reader', messages: [opening] });
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: 'and now?' });
    await settled(threads, thread_id);
    expect(provider.calls[2]?.messages).toMatchObject([
      { role: 'system', content: 'Read.' },
      { role: 'user', content: opening },
      { role: 'assistant', content: null, tool_calls: [{ id: 'turn_1_call_1_1', function: { name: 'test.none.x' } }] },
      { role: 'tool', tool_call_id: 'turn_1_call_1_1', is_error: true },
      { role: 'assistant', content: 'One.' },
      { role: 'user', content: 'and now?' },
    ]);
    const history = await world.temporal.workflow.getHandle(`${thread_id}/turn_2`).fetchHistory();
    const payloads = (history.events ?? []).flatMap((event) => [
      ...(event.workflowExecutionStartedEventAttributes?.input?.payloads ?? []),
      ...(event.activityTaskScheduledEventAttributes?.input?.payloads ?? []),
    ]);
    expect(payloads.length).toBeGreaterThan(2);
    for (const { data } of payloads) expect(Buffer.from(data ?? []).toString()).not.toContain('there there');
    provider.assertFinished();
  });
});
