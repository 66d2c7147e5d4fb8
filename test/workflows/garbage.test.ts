/**
 * Anyone who reaches the server can send a run or a thread anything. Every signal, update and query of both workflows
 * takes any JSON, and answers or ignores it: no workflow task fails, and what waits can still be answered.
 */
import { randomUUID } from 'node:crypto';
import { RawValue } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as names from '../../contract/names.js';
import { script } from '../support/test-agents.js';
import { ask, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';

type Metadata = temporal.api.sdk.v1.IWorkflowMetadata;

function deep(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let n = 0; n < levels; n++) value = n % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Deeper than can be written as JSON by a function that calls itself, though it can be read. */
function bottomless(about: object): RawValue {
  const hole = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const text = JSON.stringify(about).replaceAll('"HOLE"', hole);
  const encode = (value: string) => new TextEncoder().encode(value);
  return RawValue.fromPayload({ metadata: { encoding: encode('json/plain') }, data: encode(text) });
}

const HUGE = 'x'.repeat(100_000);

const HELLO = { message: { role: 'user', content: [{ content_type: 'text', text: 'hello' }] } };

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
      id: 'wrong types',
      name: names.SUBMIT_TOOL_RESULTS,
      command: 7,
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
      id: 'nulls everywhere',
      name: names.SUBMIT_TOOL_RESULTS,
      command: null,
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
      id: 'almost right',
      name: '__proto__',
      command: {},
    },
  ],
  'a command in a signal': [
    { id: 'x', name: names.SEND_MESSAGES, command: { commands: [null, { key: 5 }, deep(50)] } },
    { id: 'y', name: names.ANSWER_CLARIFICATION, command: deep(500) },
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
  'a batch of nothing': [{ commands: [null, 7, 'text', true, [], {}, [null], { message: null }] }],
  'a batch that is almost right': [
    {
      commands: [
        { key: 1, message: { role: 'user', content: [] } },
        { key: null, message: { role: 'user', content: [null] }, on_busy: 5 },
        { key: 'x', message: { role: 'assistant', content: [{ content_type: 'text', text: 'x' }] } },
        { key: HUGE, message: { role: 'user', content: [{ content_type: 'text', text: deep(500) }] }, goals: 'x' },
        { key: 'x', message: 'x', mark: deep(50), client_tools: [null] },
      ],
    },
  ],
  'a batch that is none': [{ commands: { 0: null, length: 1 } }],
  'a cancel without a bottom': [
    bottomless({ id: 'x', name: names.CANCEL, command: { reason: 'HOLE' }, reason: 'HOLE' }),
  ],
  'a message without a bottom': [
    bottomless({
      id: 'y',
      name: names.SEND_MESSAGE,
      command: { ...HELLO, on_busy: 'enqueue', hole: 'HOLE' },
      commands: [{ ...HELLO, on_busy: 'enqueue', hole: 'HOLE' }],
    }),
  ],
};

/** By what they are: taken from the workflows themselves, so that none is forgotten. */
interface Handlers {
  signals: string[];
  updates: string[];
  queries: string[];
}

/** These do something whatever they are given: each on a workflow of its own. */
const LAST_WORDS = { run: [names.CANCEL], thread: [names.CANCEL_TURN, names.DELETE_THREAD] };
/** Nobody takes these. */
const STRANGERS: Handlers = {
  signals: [names.SEND_MESSAGE, 'no_such_signal'],
  updates: [names.READ_LOG, 'no_such_update'],
  queries: [names.CANCEL, 'no_such_query'],
};

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

/** The names that the workflow takes, as Temporal's own query tells them. */
async function handlersOf(id: string): Promise<Handlers> {
  const { definition } = await handleOf(id).query<Metadata>('__temporal_workflow_metadata');
  const own = (list: { name?: string | null }[] | null | undefined) =>
    (list ?? []).flatMap(({ name }) => (name == null || name.startsWith('__') ? [] : [name]));
  return {
    signals: own(definition?.signalDefinitions),
    updates: own(definition?.updateDefinitions),
    queries: own(definition?.queryDefinitions),
  };
}

async function sendAll(id: string, lastWords: readonly string[], args: unknown[]): Promise<void> {
  const handle = handleOf(id);
  const { signals, updates, queries } = await handlersOf(id);
  const others = (list: string[], strangers: string[]) =>
    [...list, ...strangers].filter((name) => !lastWords.includes(name));
  for (const name of others(signals, STRANGERS.signals)) await handle.signal(name, ...args);
  // What is refused, is refused with a reason; that it was taken would show in what comes next.
  for (const name of others(updates, STRANGERS.updates))
    await handle.executeUpdate(name, { args: args as [unknown] }).catch(expectReason);
  for (const name of [...queries, ...STRANGERS.queries]) await handle.query(name, ...args).catch(expectReason);
}

function expectReason(error: unknown): void {
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).name).toMatch(/WorkflowUpdateFailedError|QueryNotRegisteredError/);
}

/** Its turn waits for a decision. */
async function askingThread(): Promise<string> {
  const thread_id = `thread-${randomUUID()}`;
  const approve = { tool: 'test.guarded.always', args: { text: 'x' } };
  const messages = [script([{ tool_calls: [approve] }, { text: 'ok' }])];
  await world.client.threads.start({ thread_id, agent_id: 'test.node', messages });
  await until(async () => (await world.client.threads.header(thread_id)).pauses.length === 1, 'the approval');
  return thread_id;
}

async function expectNoFailedTask(id: string): Promise<void> {
  const { events } = await handleOf(id).fetchHistory();
  const failed = (events ?? []).flatMap((event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? []);
  expect(failed).toEqual([]);
}

describe.concurrent.each(Object.entries(GARBAGE))('%s', { timeout: 120_000 }, (_what, args) => {
  it('does a run no harm', async () => {
    const runId = await pausedRun();
    await sendAll(runId, LAST_WORDS.run, args);
    await expectNoFailedTask(runId);
    await world.client.runs.answerClarification(runId, { await_id: 'clarification_call_1_1', answer: 'this' });
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
  });

  it('does a thread no harm', async () => {
    const threadId = await idleThread();
    await sendAll(threadId, LAST_WORDS.thread, args);
    await expectNoFailedTask(threadId);
    await world.client.threads.send(threadId, { message: 'once more', on_busy: 'enqueue' });
    await until(async () => {
      const { messages } = await world.client.threads.get(threadId);
      return messages.at(-1)?.role === 'assistant' && messages.some(({ content }) => isText(content[0], 'once more'));
    }, 'the answer');
    await expectNoFailedTask(threadId);
  });

  it('does a thread no harm that waits for an approval', async () => {
    const threadId = await askingThread();
    await sendAll(threadId, LAST_WORDS.thread, args);
    await expectNoFailedTask(threadId);
    const { pauses } = await world.client.threads.header(threadId);
    const { tool_use_id = '', digest = '' } = pauses[0]?.asked ?? {};
    await world.client.threads.decideApproval(threadId, { tool_use_id, decision: 'approve', digest });
    await until(async () => (await lastText(threadId)) === 'ok', 'the answer');
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

it('is sent to every name there is', async () => {
  const sorted = ({ signals, updates, queries }: Handlers) => [signals, updates, queries].map((list) => list.sort());
  expect(sorted(await handlersOf(await pausedRun()))).toEqual([
    [
      names.ANSWER_CLARIFICATION,
      names.CANCEL,
      names.CHILD_AWAIT,
      names.COMMAND,
      names.DECIDE_APPROVAL,
      names.LIVE_SIGNAL,
      names.SUBMIT_TOOL_RESULTS,
    ],
    [names.ANSWER_CLARIFICATION, names.CANCEL, names.DECIDE_APPROVAL, names.SUBMIT_TOOL_RESULTS],
    [names.READ_CONTEXT, names.READ_LOG, names.READ_OUTCOME, names.SNAPSHOT],
  ]);
  expect(sorted(await handlersOf(await idleThread()))).toEqual([
    [names.ACKNOWLEDGE, names.CHILD_AWAIT, names.COMMAND],
    [
      names.CANCEL_TURN,
      names.DECIDE_APPROVAL,
      names.DELETE_THREAD,
      names.PIN_THREAD,
      names.RENAME_THREAD,
      names.SEND_MESSAGE,
      names.SEND_MESSAGES,
      names.SUBMIT_TOOL_RESULTS,
    ],
    [names.READ_CONTEXT, names.READ_OUTCOME, names.READ_QUEUE, names.READ_SETTINGS, names.READ_THREAD],
  ]);
});

async function lastText(threadId: string): Promise<string | undefined> {
  const block = (await world.client.threads.get(threadId)).messages.at(-1)?.content[0];
  return block?.content_type === 'text' ? block.text : undefined;
}

function isText(block: { content_type?: string; text?: string } | undefined, text: string): boolean {
  return block?.content_type === 'text' && block.text === text;
}
