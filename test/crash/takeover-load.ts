/**
 * A load in which workers take runs over from each other all the time: two worker processes with a workflow cache of
 * three, and many runs, trees and threads at once, watched by several readers, answered, canceled and, where asked for,
 * with workers that are killed.
 *
 * What it looks for: runs that do not end, or later than their limits allow, workflow tasks that fail, histories that do
 * not replay, and any event that two reads show differently. One half of the readers polls; the other is told by Redis.
 */
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import fc from 'fast-check';
import type { PerdureClient, StreamEvent } from '../../client/index.js';
import { applyDelta } from '../../contract/thread-delta.js';
import type { LiveChannel } from '../../live/channel.js';
import { createRedisChannel } from '../../live/redis-channel.js';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient } from '../../worker/create-worker.js';
import { createDataDir } from '../support/data-dir.js';
import { checkInvariants, checkTree } from '../support/invariants.js';
import { client_tools, logsOf, playTree, treeCase } from '../support/random-trees.js';
import type { TreeCase } from '../support/random-trees.js';
import { startRedis } from '../support/redis.js';
import { historiesOn, listWorkflows, replayHistories } from '../support/replay-histories.js';
import { call, script } from '../support/test-agents.js';
import { ask } from '../support/tree-agents.js';
import { startWorkerProcess } from '../support/worker-process.js';
import type { WorkerProcess } from '../support/worker-process.js';

export interface LoadOptions {
  address: string;
  seed: number;
  roots: number;
  atOnce: number;
  kills: boolean;
  /** Workflows that a worker keeps in memory. */
  cache: number;
  keepIn: string;
}

export interface LoadReport {
  roots: number;
  reads: number;
  /** Events that came by the channel, as its readers were told them. */
  brought: number;
  histories: number;
  kills: number;
  takeovers: number;
  /** Each is a sentence with ids. None is what one wants to see. */
  hung: string[];
  wedged: string[];
  unreplayable: string[];
  differing: string[];
  /** Invariants of runs and trees that do not hold. */
  broken: string[];
}

const BUDGET = { text: '20s', ms: 20_000 };
/**
 * When one gives up to wait for a run or a thread, which may have up to five of them. That each ended in time is read
 * from its log (`time-limits.ts`); what is wedged is never over.
 */
const ENDS_WITHIN_MS = 300_000;

/** An event came while a run was ending, and its last task is done once more: as Temporal means it. */
const UNHANDLED_COMMAND = 1;

interface ThreadCase {
  turns: Parameters<typeof script>[0];
  say: { wait: number; on_busy: 'enqueue' | 'interrupt' }[];
  cancelAfter: number | undefined;
}

type Root = { tree: TreeCase } | { thread: ThreadCase };

const look = { tool: 'client.declared.client_pick', args: {} };
type Turn = Parameters<typeof script>[0][number];
const answer: fc.Arbitrary<Turn> = fc.oneof(
  fc.constant<Turn>({ text: ['one ', 'two ', 'three '], delay_ms: 60 }),
  fc.constant<Turn>({ tool_calls: [call('tools.echo', { text: 'x' }), call('tools.quick', { do: 'sleep', ms: 60 })] }),
  fc.constant<Turn>({ tool_calls: [look] }),
  fc.constant<Turn>({ tool_calls: [ask('Which?')] }),
);
const thread: fc.Arbitrary<Root> = fc.record({
  thread: fc.record({
    turns: fc.array(answer, { minLength: 2, maxLength: 6 }),
    say: fc.array(
      fc.record({ wait: fc.nat(900), on_busy: fc.constantFrom('enqueue' as const, 'interrupt' as const) }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    cancelAfter: fc.option(fc.integer({ min: 100, max: 2_000 }), { nil: undefined, freq: 2 }),
  }),
});
const tree: fc.Arbitrary<Root> = fc.record({ tree: treeCase({ depth: 2, pauses: true }, false) });
const simple: fc.Arbitrary<Root> = fc.record({ tree: treeCase({ depth: 0, pauses: true }, false) });

export async function playLoad(options: LoadOptions): Promise<LoadReport> {
  const { address, seed, roots, atOnce, kills, cache } = options;
  const dataDir = await createDataDir('takeovers');
  const taskQueue = `takeovers-${randomUUID()}`;
  const server = { connection: { address }, namespace: 'default', dataDir, taskQueue };
  const report: LoadReport = {
    roots,
    reads: 0,
    brought: 0,
    histories: 0,
    kills: 0,
    takeovers: 0,
    hung: [],
    wedged: [],
    unreplayable: [],
    differing: [],
    broken: [],
  };
  const redis = await startRedis();
  const startWorker = () =>
    startWorkerProcess({
      server,
      trees: { time_budget: BUDGET.text },
      cache,
      runtime: { model_max_attempts: 3 },
      redis: redis.url,
    });
  const workers = await Promise.all([startWorker(), startWorker()]);
  const channel = createRedisChannel({ url: redis.url, report: () => {} });
  const clients = await Promise.all([connectClient(server), connectClient(server, { channel: counted(channel) })]);
  const limit = { budget_ms: BUDGET.ms, kills };
  const texts = new Map<string, string>();
  let isOver = false;

  const note = (event: StreamEvent) => {
    if (!('seq' in event)) return;
    report.reads += 1;
    const text = JSON.stringify(event);
    const before = texts.get(event.event_id);
    if (before === undefined) texts.set(event.event_id, text);
    else if (before !== text) report.differing.push(`${event.event_id}: ${before} and ${text}`);
  };

  async function killNowAndThen(): Promise<void> {
    for (let n = 0; !isOver; n++) {
      await sleep(1_500);
      if (isOver) return;
      const [one] = workers.splice(0, 1);
      one?.kill('SIGKILL');
      report.kills += 1;
      await sleep(200);
      workers.push(await startWorker());
    }
  }

  const killing = kills ? killNowAndThen() : Promise.resolve();
  const arbitrary = fc.oneof(
    { weight: 5, arbitrary: tree },
    { weight: 3, arbitrary: simple },
    { weight: 3, arbitrary: thread },
  );
  const cases = fc.sample(arbitrary, { seed, numRuns: roots });
  const [first, second] = clients as [ConnectedClient, ConnectedClient];
  try {
    await inParallel(cases, atOnce, async (root, n) => {
      const id = `root-${seed}-${n}-${randomUUID().slice(0, 8)}`;
      const played = 'tree' in root ? playRun(id, root.tree) : playThread(id, root.thread);
      const late = sleep(ENDS_WITHIN_MS).then(() => 'late' as const);
      const outcome = await Promise.race([played.then(() => 'done' as const), late]);
      if (outcome === 'late')
        report.hung.push(`${id} (${'tree' in root ? 'run' : 'thread'}): not over after ${ENDS_WITHIN_MS} ms`);
      if (outcome === 'late' && report.hung.length === 1) report.hung.push(...(await circumstances()));
    });
  } finally {
    isOver = true;
    await killing;
  }
  await inspectAll(first, options, taskQueue, dataDir, report);
  await Promise.all(clients.map((connected) => connected.close()));
  await channel.close();
  await stopAll(workers);
  await redis.stop();
  return report;

  /** The same channel; what it brings is counted. */
  function counted(inner: LiveChannel): LiveChannel {
    return {
      ...inner,
      subscribe: (runId, listener) =>
        inner.subscribe(runId, {
          ...listener,
          committed(events, origin) {
            report.brought += events.length;
            listener.committed(events, origin);
          },
        }),
    };
  }

  /** For whoever has to find out why: what is open, what it waits for, and what the workers said last. */
  async function circumstances(): Promise<string[]> {
    const lines = workers.map(({ pid, said }) => `worker ${pid} said last: ${said()}`);
    const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
    for await (const { workflowId } of first.temporal.workflow.list({ query })) {
      const { raw } = await first.temporal.workflow.getHandle(workflowId).describe();
      const { pendingActivities, pendingWorkflowTask } = raw;
      lines.push(`${workflowId} is open: ${JSON.stringify({ pendingActivities, pendingWorkflowTask })}`);
    }
    return lines;
  }

  async function playRun(run_id: string, given: TreeCase): Promise<void> {
    const request = { run_id, signal_live: given.moods[0] === 1 };
    const watching = watchBeside(run_id, given.moods[1] ?? 0);
    const seen = await playTree(first, given, request);
    for (const events of seen.runs.values()) events.forEach(note);
    check(run_id, () => {
      for (const events of seen.runs.values()) checkInvariants(events, limit);
      checkTree(logsOf(seen), run_id);
    });
    await watching;
    for (const runId of seen.runs.keys()) {
      await untilTaken(async () => {
        for await (const event of second.client.runs.stream(runId, { follow: false })) note(event);
      });
    }
  }

  function check(id: string, invariants: () => void): void {
    try {
      invariants();
    } catch (error) {
      report.broken.push(`${id}: ${String(error)}`);
    }
  }

  /** Readers who come and go: a stream of the whole tree, and one who only ever asks how it stands. */
  async function watchBeside(runId: string, mood: number): Promise<void> {
    await sleep(100 + mood * 150);
    const { runs } = second.client;
    const ended = (async () => {
      for await (const event of runs.stream(runId, { children: 'flattened' })) note(event);
    })();
    let isEnded = false;
    void ended.then(() => (isEnded = true));
    while (!isEnded) {
      await sleep(200 + mood * 60);
      const asking = mood % 2 === 0 ? runs.get(runId) : collectNow(second.client, runId);
      await asking.catch(() => {});
    }
    await ended;
  }

  async function collectNow(client: PerdureClient, runId: string): Promise<void> {
    for await (const event of client.runs.stream(runId, { follow: false, from: -6 })) note(event);
  }

  async function playThread(thread_id: string, { turns, say, cancelAfter }: ThreadCase): Promise<void> {
    const { threads } = first.client;
    const start = {
      thread_id,
      agent_id: 'test.node',
      client_tools,
      messages: [script([...turns, ...turns, ...turns])],
    };
    const started = await threads.start(start).catch(() => untilTaken(() => threads.get(thread_id)));
    let held = { ...started, goals: started.goals ?? [] };
    const leaving = new AbortController();
    const streaming = (async () => {
      for await (const event of second.client.threads.stream(thread_id, { signal: leaving.signal }))
        if (event.type !== 'thread_ended') note(event);
    })();
    const poll = async () => {
      const delta = await threads.delta(thread_id, held.continuation_token);
      held = { ...held, ...applyDelta(held, delta), continuation_token: delta.continuation_token };
    };
    const saying = (async () => {
      for (const { wait, on_busy } of say) {
        await sleep(wait);
        await untilTaken(() => threads.send(thread_id, { message: 'go on', on_busy }));
      }
      if (cancelAfter === undefined) return;
      await sleep(cancelAfter);
      await untilTaken(() => threads.cancel(thread_id));
    })();
    let isSaid = false;
    void saying.then(() => (isSaid = true));
    for (;;) {
      await sleep(250);
      await poll().catch(() => {});
      const header = await threads.header(thread_id).catch(() => undefined);
      if (header === undefined) continue;
      const pending = header.pending.map(({ tool_use_id }) => ({
        tool_use_id,
        status: 'success' as const,
        output: 'x',
      }));
      if (pending.length > 0) await threads.submitToolResults(thread_id, { tool_results: pending }).catch(() => {});
      if (isSaid && header.turn === undefined && header.queued === 0) break;
    }
    await saying;
    await untilTaken(poll);
    const record = await untilTaken(() => threads.get(thread_id));
    if (JSON.stringify(held.messages) !== JSON.stringify(record.messages))
      report.differing.push(`${thread_id}: the messages by delta differ from the record`);
    leaving.abort();
    await streaming;
    const { turns: played } = await untilTaken(() => threads.header(thread_id));
    for (let turn = 1; turn <= played; turn++) {
      const seen: StreamEvent[] = [];
      await untilTaken(async () => {
        seen.length = 0;
        for await (const event of second.client.runs.stream(`${thread_id}/turn_${turn}`)) seen.push(event);
      });
      seen.forEach(note);
      check(`${thread_id}/turn_${turn}`, () => checkInvariants(seen, limit));
    }
  }
}

async function inspectAll(
  { temporal }: ConnectedClient,
  { keepIn }: LoadOptions,
  taskQueue: string,
  dataDir: string,
  report: LoadReport,
): Promise<void> {
  const query = `TaskQueue = '${taskQueue}'`;
  // What is listed lags behind a little.
  await sleep(2_000);
  for await (const { workflowId, runId, type, status } of temporal.workflow.list({ query })) {
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const identities = new Set(
      (events ?? []).flatMap((event) => event.workflowTaskCompletedEventAttributes?.identity ?? []),
    );
    if (identities.size > 1) report.takeovers += 1;
    const failures = (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
      failed == null || Number(failed.cause) === UNHANDLED_COMMAND ? [] : [failed.failure?.message ?? failed.cause],
    );
    if (failures.length > 0)
      report.wedged.push(`${workflowId} (${type}, ${status.name}): ${failures.join('; ').slice(0, 300)}`);
    const isOpenRun = status.name === 'RUNNING' && type === 'agentRun';
    if (isOpenRun) report.hung.push(`${workflowId} is still running`);
  }
  const sources = [historiesOn(temporal, (client) => listWorkflows(client, query))];
  const { histories, failed } = await replayHistories(sources, { dataDirs: dirname(dataDir), keepIn });
  report.histories = histories;
  report.unreplayable.push(...failed.map(({ id, error, file }) => `${id}: ${error} (kept in ${file})`));
}

async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, n: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < items.length; n = next++) await work(items[n] as T, n);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** A worker was killed in its middle, or none was there: whoever asks, asks again. */
async function untilTaken<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await sleep(200);
    }
  }
}

async function stopAll(workers: readonly WorkerProcess[]): Promise<void> {
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ exited }) => exited));
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
