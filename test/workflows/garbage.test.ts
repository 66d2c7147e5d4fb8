/**
 * Anyone who reaches the server can send a run or a thread anything. Every signal, update and query of both workflows
 * takes any JSON, and answers or ignores it: no workflow task fails, and what waits can still be answered.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as names from '../../contract/names.js';
import { script } from '../support/test-agents.js';
import { ask, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';

function deep(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let n = 0; n < levels; n++) value = n % 2 === 0 ? [value] : { a: value };
  return value;
}

const HUGE = 'x'.repeat(100_000);

/** As lists of arguments. */
const GARBAGE: Record<string, unknown[]> = {
  nothing: [],
  null: [null],
  'a list of null': [[null]],
  'a list of lists': [[[], [null], [[]]]],
  number: [42],
  'negative number': [-1.5],
  text: ['text'],
  'huge text': [HUGE],
  true: [true],
  'empty object': [{}],
  'empty list': [[]],
  'list of texts': [['a', 'b']],
  deep: [deep(500)],
  'deep in a list': [[deep(500)]],
  'wrong types': [
    {
      await_id: 1,
      answer: {},
      results: 'x',
      decision: [],
      digest: null,
      reason: 7,
      note: { deep: deep(50) },
      via: 3,
      paused: 'yes',
      changes: {},
      from: 'x',
      offset: {},
      live_from: 'y',
      whole: 'yes',
      message: 5,
      title: 9,
      by: [],
      pinned: 'no',
      tool_results: {},
      client_tools: 'x',
      goals: 'x',
      counter: 'x',
      mark: 3,
    },
  ],
  'nulls everywhere': [
    {
      await_id: null,
      answer: null,
      results: [null],
      decision: null,
      reason: null,
      note: null,
      via: null,
      changes: [null],
      from: null,
      offset: null,
      live_from: null,
      message: null,
      title: null,
      by: null,
      tool_results: [null],
      client_tools: [null],
      goals: [null],
      mark: null,
    },
  ],
  'almost right': [
    {
      await_id: 'x',
      answer: 'y',
      results: [{ tool_call_id: 'x', status: 'success', output: deep(500) }],
      decision: 'approve',
      digest: HUGE,
      via: 'x',
      paused: true,
      changes: [{ link: null }],
      from: 1e308,
      offset: -5,
      live_from: Number.MAX_SAFE_INTEGER,
      message: { role: 'user', content: [{ content_type: 'text', text: '' }, null] },
      by: 'x',
      counter: 1e308,
      tool_results: [{ tool_use_id: 'x', status: 'error' }],
    },
  ],
  'live events that are none': [
    [
      { type: 'attempt_retracted' },
      { type: 'text_chunk', block_id: 'b' },
      { type: 'text_chunk', live_id: 'x', run_id: 'y', block_id: 1, attempt: 'z', index: 0, text: null },
      7,
      { type: null, text: HUGE },
    ],
  ],
  'several arguments': [1, null, {}, []],
};

const RUN = {
  signals: [
    names.CANCEL_TURN,
    names.ANSWER_CLARIFICATION,
    names.SUBMIT_TOOL_RESULTS,
    names.DECIDE_APPROVAL,
    names.CHILD_AWAIT,
    names.LIVE_SIGNAL,
    'no_such_signal',
  ],
  updates: [
    names.ANSWER_CLARIFICATION,
    names.SUBMIT_TOOL_RESULTS,
    names.DECIDE_APPROVAL,
    names.SEND_MESSAGE,
    'no_such_update',
  ],
  queries: [names.READ_LOG, names.READ_CONTEXT, names.SNAPSHOT, 'no_such_query'],
};
const THREAD = {
  signals: [names.ACKNOWLEDGE, names.CHILD_AWAIT, names.SEND_MESSAGE, 'no_such_signal'],
  updates: [names.SEND_MESSAGE, names.SUBMIT_TOOL_RESULTS, names.RENAME_THREAD, names.PIN_THREAD, 'no_such_update'],
  queries: [names.READ_THREAD, names.READ_CONTEXT, names.READ_SETTINGS, 'no_such_query'],
};
/** These do something whatever they are given: each on a workflow of its own. */
const LAST_WORDS = { run: [names.CANCEL], thread: [names.CANCEL_TURN, names.DELETE_THREAD] };

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

const handleOf = (id: string) => world.temporal.workflow.getHandle(id);

async function pausedRun(): Promise<string> {
  const input = script([{ tool_calls: [ask('Which?')] }, { text: 'ok' }]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input });
  await until(async () => (await world.client.runs.get(run_id)).awaits.length === 1, 'the question');
  return run_id;
}

async function idleThread(): Promise<string> {
  const thread_id = `thread-${randomUUID()}`;
  await world.client.threads.start({
    thread_id,
    agent_id: 'test.node',
    messages: [script([{ text: 'hello' }, { text: 'again' }])],
  });
  await until(async () => (await world.client.threads.get(thread_id)).status === 'user_turn', 'the first answer');
  return thread_id;
}

async function sendAll(id: string, { signals, updates, queries }: typeof RUN, args: unknown[]): Promise<void> {
  const handle = handleOf(id);
  for (const name of signals) await handle.signal(name, ...args);
  // What is refused, is refused with a reason; that it was taken would show in what comes next.
  for (const name of updates) await handle.executeUpdate(name, { args: args as [unknown] }).catch(expectReason);
  for (const name of queries) await handle.query(name, ...args).catch(expectReason);
}

function expectReason(error: unknown): void {
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).name).toMatch(/WorkflowUpdateFailedError|QueryNotRegisteredError/);
}

async function expectNoFailedTask(id: string): Promise<void> {
  const { events } = await handleOf(id).fetchHistory();
  const failed = (events ?? []).flatMap((event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? []);
  expect(failed).toEqual([]);
}

describe.each(Object.entries(GARBAGE))('%s', { timeout: 120_000 }, (_what, args) => {
  it('does a run no harm', async () => {
    const runId = await pausedRun();
    await sendAll(runId, RUN, args);
    await expectNoFailedTask(runId);
    await world.client.runs.answerClarification(runId, { await_id: 'clarification_call_1_1', answer: 'this' });
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
  });

  it('does a thread no harm', async () => {
    const threadId = await idleThread();
    await sendAll(threadId, THREAD, args);
    await expectNoFailedTask(threadId);
    await world.client.threads.send(threadId, { message: 'once more', on_busy: 'enqueue' });
    await until(async () => {
      const { messages } = await world.client.threads.get(threadId);
      return messages.at(-1)?.role === 'assistant' && messages.some(({ content }) => isText(content[0], 'once more'));
    }, 'the answer');
    await expectNoFailedTask(threadId);
  });

  it('with a cancel or a delete ends what it ends', async () => {
    for (const [id, list] of [
      [await pausedRun(), LAST_WORDS.run],
      [await idleThread(), LAST_WORDS.thread],
    ] as const) {
      for (const name of list) {
        const handle = handleOf(id);
        if (name === names.CANCEL) await handle.signal(name, ...args);
        await handle.executeUpdate(name, { args: args as [unknown] }).catch((error: unknown) => {
          // It was over before.
          expect((error as Error).name).toMatch(/WorkflowUpdateFailedError|WorkflowNotFoundError/);
        });
      }
      await handleOf(id)
        .result()
        .catch(() => {});
      await expectNoFailedTask(id);
    }
  });
});

function isText(block: { content_type?: string; text?: string } | undefined, text: string): boolean {
  return block?.content_type === 'text' && block.text === text;
}
