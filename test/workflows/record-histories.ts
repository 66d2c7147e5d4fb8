/**
 * Records histories for the replay tests: `npx tsx test/workflows/record-histories.ts <version>` writes those that are
 * not there yet, or those of them that are named after the version. A history that is there is never written again: it
 * stands for runs that are in flight somewhere.
 *
 * A history from before a change is recorded before it is made. Some were missed, and made up for later:
 *
 * - with the code of that time, where it is in a commit: this file, in a clone at b26583d, which is 0.4;
 * - else with later code in which the old branch runs, in a clone that is thrown away: `REVISION` is 1, and `patched()` is
 *   replaced by `false` where the case says so. That is what a worker of that time did at this place, and no more than
 *   that is what such a history stands for.
 */
import { readdirSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { defineConfig } from '../../kit/index.js';
import type { ConfigOptions, RuntimeOptions } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import type { StreamEvent } from '../../client/index.js';
import { scripted } from '../../providers/index.js';
import { startWorker } from '../../worker/create-worker.js';
import type { RunningWorker } from '../../worker/create-worker.js';
import { startEmbeddedServer } from '../../worker/embedded-server.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { treeConfig } from '../support/tree-agents.js';
import { createWindowModel, windowConfig, WINDOW_AGENT } from '../support/window-model.js';
import { until } from '../support/world.js';
import { settled, threadConfig } from '../threads/thread-world.js';

const version = process.argv[2];
const only = process.argv.slice(3);
if (version === undefined) throw new Error('Give the version that the histories stand for, such as 0.1.');
const isAsked = (name: string) => only.length === 0 || only.includes(name);

installRuntimeLog(console.error);

const echo = call('tools.echo', { text: 'x' });
const child = (...turns: Parameters<typeof script>[0]) => ({
  tool: 'test.agents.node',
  args: { script: script(turns) },
});
const ask = { tool: 'runtime.user.ask_clarification', args: { question: 'Which one?' } };
const always = { tool: 'test.guarded.always', args: { text: 'x' } };
const client_tools = [{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }];

interface Case {
  input: string;
  request?: object;
  cancelAt?: string;
  live?: boolean;
  trees?: boolean;
  runtime?: RuntimeOptions;
  /** Instead of the agents that play a script. */
  window?: number;
  /** How long a question, or a call that needs approval, waits for its answer. */
  answerAfterMs?: number;
  /** Started as by the Temporal CLI: without search attributes. */
  bare?: boolean;
  /** The question is answered by a signal, from somebody with so long a name. */
  answeredBy?: string;
  /** Before the question is answered, the answer comes as a signal that the workflow of then does not know. */
  unknownSignal?: true;
}

const CASES: Record<string, Case> = {
  'children-side-by-side': {
    trees: true,
    input: script([
      { tool_calls: [child({ text: 'one' }), child({ tool_calls: [echo] }, { text: 'two' }), echo] },
      { text: 'Both.' },
    ]),
  },
  'children-canceled': {
    trees: true,
    input: script([{ tool_calls: [child({ text: ['well'], hang: true }), echo] }]),
    cancelAt: 'agent_run_started',
  },
  'pauses-answered': {
    trees: true,
    input: script([
      {
        tool_calls: [
          ask,
          { tool: 'test.guarded.always', args: { text: 'x' } },
          { tool: 'client.declared.client_look', args: {} },
        ],
      },
      { tool_calls: [child({ tool_calls: [ask] }, { text: 'asked' })] },
      { text: 'Done.' },
    ]),
    request: { client_tools, limits: { run: { time_budget: '1h' } } },
  },
  'a-long-pause': {
    trees: true,
    runtime: { long_pause: '1s' },
    input: script([{ tool_calls: [ask] }, { text: 'Done.' }]),
  },
  /** Of 0.4: while a run waited, a timer for the display of its phase was set again and again. */
  'a-question-that-waits': {
    trees: true,
    input: script([{ tool_calls: [ask] }, { text: 'Done.' }]),
    answerAfterMs: 8_000,
  },
  'a-question-that-waits-without-attributes': {
    trees: true,
    input: script([{ tool_calls: [ask] }, { text: 'Done.' }]),
    answerAfterMs: 4_000,
    bare: true,
  },
  'an-approval-that-waits-after-a-slow-model': {
    trees: true,
    input: script([
      { text: ['one ', 'moment'], delay_ms: 1_300, tool_calls: [{ tool: 'test.guarded.always', args: { text: 'x' } }] },
      { text: 'Done.' },
    ]),
    answerAfterMs: 2_000,
  },
  /** Of 0.5: a signal could bring a text of any size. */
  'an-answer-from-a-long-name': {
    trees: true,
    input: script([{ tool_calls: [ask] }, { text: 'Done.' }]),
    answeredBy: 'x'.repeat(3_000),
  },
  /** Of 0.7: a command could not come as a signal. */
  'a-command-by-signal': {
    trees: true,
    input: script([{ tool_calls: [ask] }, { text: 'Done.' }]),
    unknownSignal: true,
  },
  'a-child-that-waits': {
    trees: true,
    input: script([{ tool_calls: [child({ tool_calls: [ask] }, { text: 'asked' })] }, { text: 'Done.' }]),
    answerAfterMs: 5_000,
  },
  'phases-that-are-shown-late': {
    input: script([
      { text: ['a ', 'b '], delay_ms: 2_000, tool_calls: [echo] },
      { text: ['c ', 'd '], delay_ms: 2_500 },
    ]),
  },
  'direct-answer': { input: script([{ thinking: 'hm', text: 'Hello.' }]) },
  'parallel-tools-with-failures': {
    input: script([
      { text: 'Looking.', tool_calls: [echo, call('tools.quick', { do: 'throw' }), { tool: 'make_coffee', args: {} }] },
      { tool_calls: [echo] },
      { text: 'Done.' },
    ]),
  },
  'cap-then-synthesis': {
    input: script(
      Array.from({ length: 4 }, () => ({ tool_calls: [echo] })),
      { text: 'In short.' },
    ),
    request: { limits: { run: { max_tool_calls: 2 } } },
  },
  'time-budget-stops-a-tool': {
    input: script([{ tool_calls: [call('tools.act', { do: 'hang' })] }], { text: 'In short.' }),
    request: { limits: { run: { time_budget: '1s' } } },
  },
  /** Of 0.4, at b26583d: what the synthesis failed of was lost, and it was not compacted. */
  'synthesis-failed-after-the-deadline': {
    input: script([{ tool_calls: [call('tools.act', { do: 'hang' })] }], { fail: { code: 'model_unauthorized' } }),
    request: { limits: { run: { time_budget: '1s' } } },
  },
  'synthesis-too-long-after-the-deadline': {
    input: script([{ tool_calls: [call('tools.act', { do: 'hang' })] }], { fail: { code: 'model_context_exceeded' } }),
    request: { limits: { run: { time_budget: '1s' } } },
  },
  'model-retried': {
    input: script([{ text: 'ok', attempts: [{ fail: { code: 'model_stream_cut', after_deltas: 1 } }, {}] }]),
  },
  'model-failed': { input: script([{ fail: { code: 'model_unauthorized' } }]) },
  /** Of 0.3: it failed, since nothing was compacted then. */
  'model-context-exceeded': { input: script([{ fail: { code: 'model_context_exceeded' } }]) },
  'refused-then-compacted': { window: 1_500, input: 'fact_0 steps=5 size=700' },
  'canceled-while-streaming': { input: script([{ text: ['well'], hang: true }]), cancelAt: 'text_chunk' },
  'canceled-while-tools-run': {
    input: script([{ tool_calls: [call('tools.act', { do: 'hang' })] }]),
    cancelAt: 'tool_scheduled',
  },
  'deltas-by-signal': { input: script([{ text: 'a few words by signal', delay_ms: 150 }]), live: true },
  'continued-as-new': {
    input: script([...Array.from({ length: 5 }, () => ({ tool_calls: [echo] })), { text: 'The end.' }]),
    request: { agent_id: 'test.agent' },
  },
};

interface ThreadCase {
  turns?: Parameters<typeof script>[0];
  /** Instead of a script: the first message, for a model with that window. */
  window?: { tokens: number; first: string };
  /** A model writes the title. */
  titled?: boolean;
  /** What is said after the first message; each waits until the turn before it is over. */
  say: string[];
  goals?: { goal_type: string; goal_data: Record<string, unknown> }[];
  runtime?: RuntimeOptions;
  cancelAt?: string;
  /** Ends the thread in the middle of its last turn. */
  deleteAt?: string;
  /** Every message is sent twice, as by a client whose connection broke, and read after that. */
  repeats?: true;
  /** Each turn asks a question beside its client tool: whether it is answered before the tool has its result, or after. */
  asks?: ('before' | 'after')[];
  /** Between two turns a message comes as a signal that the workflow of then does not know. */
  unknownSignal?: true;
  /** With the agents that ask; what they ask is answered at the run. */
  asksAtRun?: true;
  /** While its only turn goes on, it is told of a call that waits for the client, with a note of so many characters. */
  toldWith?: number;
  /** The second message comes in a batch, under a key of so many characters. */
  keyOf?: number;
}

const look = { tool: 'client.declared.client_look', args: {} };
const question = (n: number) => `fact_${n} ${'x'.repeat(700)}`;
const THREADS: Record<string, ThreadCase> = {
  /** Of 0.4, at b26583d: a question or an approval of a turn was not the user's turn. */
  'thread-that-asks': { turns: [{ tool_calls: [ask, always] }, { text: 'Done.' }], say: [], asksAtRun: true },
  /** Of 0.6, without THREAD_PAUSES: the thread is still on a worker of before, its turn on one that tells what is asked. */
  'thread-that-asks-during-a-deploy': {
    turns: [{ tool_calls: [ask, always] }, { text: 'Done.' }],
    say: [],
    asksAtRun: true,
  },
  /** Of 0.5, without BOUNDED_TEXTS and THREAD_PAUSES: a notice of any size was taken. */
  'thread-told-too-much': { turns: [{ text: ['well'], hang: true }], say: [], toldWith: 5_000 },
  /** Of 0.5, without BOUNDED_TEXTS: a message of a batch of any size was taken. */
  'thread-batch-with-a-long-key': { turns: [{ text: 'One.' }, { text: 'Two.' }], say: ['two'], keyOf: 2_000 },
  'thread-with-tools-and-goals': {
    turns: [
      { text: 'Looking.', tool_calls: [echo, look] },
      { text: 'No.' },
      { tool_calls: [{ tool: 'runtime.goals.achieve_summary', args: { text: 'x' } }] },
      { text: 'Done.' },
      { text: 'Again.' },
    ],
    say: ['again'],
    goals: [
      { goal_type: 'summary', goal_data: { about: 'x' } },
      { goal_type: 'unknown', goal_data: {} },
    ],
  },
  'thread-compacted': {
    window: { tokens: 1_500, first: question(1) },
    say: [question(2), question(3), question(4), question(5), 'fact_6 steps=6 size=400', 'fact_7'],
  },
  'thread-titled': { turns: [{ text: 'One.' }, { text: 'Two.' }], say: ['two'], titled: true },
  'thread-canceled-then-deleted': {
    turns: [
      { text: ['well'], hang: true },
      { text: ['and'], hang: true },
    ],
    say: ['go on'],
    cancelAt: 'text_chunk',
    deleteAt: 'text_chunk',
  },
  'thread-continued-as-new': {
    turns: Array.from({ length: 4 }, (_, n) => ({ text: `Answer ${n + 1}.` })),
    say: ['two', 'three', 'four'],
    runtime: { continue_as_new_after_events: 25 },
  },
  'thread-messages-repeated': {
    turns: Array.from({ length: 3 }, (_, n) => ({ text: `Answer ${n + 1}.` })),
    say: ['more', 'more'],
    repeats: true,
  },
  /** Of 0.7: a question was shown, and answered, while the client still owed results of its tools. */
  'thread-question-beside-client-tool': {
    turns: [{ tool_calls: [ask, look] }, { text: 'One.' }, { tool_calls: [ask, look] }, { text: 'Two.' }],
    say: ['again'],
    asks: ['before', 'after'],
  },
  'thread-with-a-command-by-signal': {
    turns: Array.from({ length: 3 }, (_, n) => ({ text: `Answer ${n + 1}.` })),
    say: ['more'],
    unknownSignal: true,
  },
};

const recorded = readdirSync(new URL('histories/', import.meta.url));
const server = await startEmbeddedServer({
  port: 0,
  uiPort: false,
  namespace: 'default',
  searchAttributes: {},
  report: console.error,
});
const dataDir = await mkdtemp(join(tmpdir(), 'perdure-record-'));
for (const [
  name,
  {
    input,
    request,
    cancelAt,
    live,
    trees = false,
    runtime: given,
    window,
    answerAfterMs,
    bare,
    answeredBy,
    unknownSignal,
  },
] of Object.entries(CASES)) {
  const file = fileURLToPath(new URL(`histories/${version}-${name}.json`, import.meta.url));
  if (!isAsked(name) || recorded.some((file) => file.endsWith(`-${name}.json`))) continue;
  const runtime = given ?? (name === 'continued-as-new' ? { continue_as_new_after_events: 40 } : {});
  const worker = await startWorker({
    connection: { address: server.address },
    namespace: 'default',
    dataDir,
    taskQueue: name,
    registry: createRegistry(
      defineConfig(
        window !== undefined
          ? windowConfig(createWindowModel(window), {})
          : trees
            ? treeConfig(runtime)
            : testConfig(runtime),
      ),
    ),
    report: console.error,
  });
  const { runs } = worker.client;
  const asked = {
    agent_id: window !== undefined ? WINDOW_AGENT : trees ? 'test.node' : 'test.agent',
    input,
    ...request,
    ...(live ? { signal_live: true } : {}),
  };
  const startBare = async () => {
    const workflowId = `bare-${name}`;
    await worker.temporal.workflow.start('agentRun', { workflowId, taskQueue: name, args: [asked] });
    return { run_id: workflowId };
  };
  const { run_id } = bare === true ? await startBare() : await runs.start(asked);
  const children: string[] = [];
  for await (const event of runs.stream(run_id, { children: 'flattened' })) {
    if (event.type === cancelAt) await runs.cancel(run_id);
    if (event.type === 'agent_run_started') children.push(event.link.run_id);
    if (answeredBy !== undefined && event.type === 'await_clarification') {
      const given = { await_id: event.await_id, answer: 'This one.', answered_by: answeredBy };
      await worker.temporal.workflow.getHandle(run_id).signal('answer_clarification', given);
      continue;
    }
    if (unknownSignal === true && event.type === 'await_clarification') {
      const command = { await_id: event.await_id, answer: 'By signal.' };
      await sendCommand(worker, run_id, { id: 'key', name: 'answer_clarification', command });
    }
    await answer(worker, event, answerAfterMs ?? (name === 'a-long-pause' ? 3_000 : 0));
  }
  await record(worker, run_id, file);
  for (const [n, id] of children.entries()) await record(worker, id, file.replace('.json', `.child-${n + 1}.json`));
  await worker.stop();
}
for (const [name, each] of Object.entries(THREADS)) {
  const { turns = [], window, titled = false, say, goals, runtime = {}, cancelAt, deleteAt, repeats } = each;
  const { asks, asksAtRun, toldWith, keyOf } = each;
  const file = fileURLToPath(new URL(`histories/${version}-${name}.json`, import.meta.url));
  if (!isAsked(name) || recorded.some((known) => known.endsWith(`-${name}.json`))) continue;
  const worker = await startWorker({
    connection: { address: server.address },
    namespace: 'default',
    dataDir,
    taskQueue: name,
    registry: createRegistry(defineConfig(configOf(each, runtime))),
    report: console.error,
  });
  const { runs, threads } = worker.client;
  const messages = [window?.first ?? script(turns)];
  const { thread_id } = await threads.start({
    agent_id: window !== undefined ? WINDOW_AGENT : (asks ?? asksAtRun) === undefined ? 'test.agent' : 'test.node',
    messages,
    client_tools,
    ...(goals === undefined ? {} : { goals }),
    ...(repeats === undefined ? {} : { mark: { by: 'somebody', digest: 'start' } }),
  });
  const handle = worker.temporal.workflow.getHandle(thread_id);
  const { runId } = await handle.describe();
  for (let turn = 1; turn <= say.length + 1; turn++) {
    const isLast = turn === say.length + 1;
    const stopAt = isLast ? deleteAt : cancelAt;
    for await (const event of runs.stream(`${thread_id}/turn_${turn}`)) {
      const sayThis = () => threads.send(thread_id, { message: 'This one.' });
      if (event.type === 'await_external_tools') {
        await until(async () => (await threads.header(thread_id)).pending.length > 0, 'the client to be asked');
        if (asks?.[turn - 1] === 'before') await sayThis();
        await answerThread(worker, thread_id);
        if (asks?.[turn - 1] === 'after') {
          await until(async () => (await threads.header(thread_id)).status === 'user_turn', 'the question');
          await sayThis();
        }
      } else if (asksAtRun === true) await answer(worker, event, 1_000);
      if (toldWith !== undefined && event.type === 'text_chunk') {
        await handle.signal('child_await', noticeOf(`${thread_id}/turn_${turn}`, 'x'.repeat(toldWith)));
        const isTold = async () => (await threads.header(thread_id)).status === 'client_tool_turn';
        await until(isTold, 'the notice to be taken');
        await threads.cancel(thread_id);
      }
      if (event.type === stopAt) await (isLast ? threads.delete(thread_id) : threads.cancel(thread_id));
    }
    if (isLast && deleteAt !== undefined) await handle.result();
    else await settled(threads, thread_id);
    if (titled) await until(async () => (await threads.get(thread_id)).title === 'A title', 'the title');
    const next = say[turn - 1];
    if (next === undefined) continue;
    if (repeats !== undefined) await threads.get(thread_id, { reader: 'somebody' });
    if (keyOf !== undefined) {
      const message = { role: 'user', content: [{ content_type: 'text', text: next }] };
      const args = [{ commands: [{ key: 'x'.repeat(keyOf), message }] }] as const;
      await handle.executeUpdate('send_messages', { args: [...args] });
      continue;
    }
    const options = repeats === undefined ? {} : { mark: { by: 'somebody', digest: next } };
    if (each.unknownSignal === true) {
      const message = { role: 'user', content: [{ content_type: 'text', text: 'by signal' }] };
      await sendCommand(worker, thread_id, { id: 'key', name: 'send_message', command: { message } });
    }
    for (let n = 0; n < (repeats === undefined ? 1 : 2); n++) await threads.send(thread_id, { message: next }, options);
  }
  await record(worker, thread_id, file, runId);
  for (let turn = 1; turn <= say.length + 1; turn++)
    await record(worker, `${thread_id}/turn_${turn}`, file.replace('.json', `.turn-${turn}.json`));
  const now = (await handle.describe()).runId;
  if (now !== runId) await record(worker, thread_id, file.replace('.json', '.continued.json'), now);
  await worker.stop();
}
await server.stop();

/** From the run of a turn: a call waits for the client. */
function noticeOf(run_id: string, note: string): object {
  const link = { run_id, agent_id: 'test.agent', stream_key: `perdure.run.${run_id}` };
  const calls = [{ tool_call_id: 'call_1_1', tool_id: 'client.declared.client_look', arguments: {} }];
  const change = { link, await_id: 'external_tools_1', kind: 'external_tools', state: 'open', calls };
  return { via: run_id, paused: true, changes: [change], note };
}

function configOf({ window, titled = false, asks, asksAtRun }: ThreadCase, runtime: RuntimeOptions): ConfigOptions {
  if (asks !== undefined || asksAtRun === true) return treeConfig(runtime);
  if (window !== undefined) {
    const { tokens } = window;
    return windowConfig(createWindowModel(tokens), { context_tokens: tokens }, runtime);
  }
  const config = threadConfig(runtime);
  if (!titled) return config;
  const titles = { provider: scripted({ turns: [{ text: 'A title' }] }), model: 'scripted-1' };
  return { ...config, models: { ...config.models, titles }, threads: { title: { profile: 'titles' } } };
}

async function answer({ client: { runs } }: RunningWorker, event: StreamEvent, wait: number): Promise<void> {
  if (event.type === 'await_clarification' || event.type === 'await_approval')
    await new Promise((resolve) => setTimeout(resolve, wait));
  if (event.type === 'await_clarification') {
    await runs.answerClarification(event.run_id, { await_id: event.await_id, answer: 'This one.' });
  } else if (event.type === 'await_approval') {
    const { await_id, digest } = event;
    await runs.decideApproval(event.run_id, { await_id, decision: 'approve', digest });
  } else if (event.type === 'await_external_tools') {
    const results = event.calls.map(({ tool_call_id }) => ({
      tool_call_id,
      status: 'success' as const,
      output: 'seen',
    }));
    await runs.submitToolResults(event.run_id, { results });
  }
}

/** Until a workflow task has seen it. */
async function sendCommand({ temporal }: RunningWorker, id: string, command: object): Promise<void> {
  const handle = temporal.workflow.getHandle(id);
  await handle.signal('command', command);
  await until(async () => {
    const { events } = await handle.fetchHistory();
    const signaled = events?.findIndex((event) => event.workflowExecutionSignaledEventAttributes != null) ?? -1;
    return events?.slice(signaled).some((event) => event.workflowTaskCompletedEventAttributes != null) === true;
  }, 'the signal to be handled');
}

async function answerThread({ client }: RunningWorker, threadId: string): Promise<void> {
  const { pending } = await client.threads.header(threadId);
  const tool_results = pending.map(({ tool_use_id }) => ({ tool_use_id, status: 'success' as const, output: 'seen' }));
  await client.threads.submitToolResults(threadId, { tool_results });
}

/** Who recorded it, and where, is nobody's business, and nothing that replays. Of a thread, which goes on: as it is now. */
async function record({ temporal }: RunningWorker, id: string, file: string, threadRun?: string): Promise<void> {
  const handle = temporal.workflow.getHandle(id, threadRun);
  if (threadRun === undefined) await handle.result().catch(() => {});
  const json = historyToJSON(await handle.fetchHistory())
    .replaceAll(/"identity": ?"[^"]*"/g, '"identity": "recorder"')
    .replaceAll(/"stackTrace": ?"(?:[^"\\]|\\.)*"/g, '"stackTrace": ""');
  await writeFile(file, `${json}\n`);
  console.log(`recorded ${file}`);
}
