/**
 * The SDK handles events before their workflow task, for a query (docs/queries.md). The first test of each group shows it
 * with a plain workflow: when it turns red, an SDK has mended it, and `workflows/refuse-early-events.ts` may go.
 *
 * How it is brought about: a query is sent while no worker is there and nothing is to be done; then an event comes. A
 * worker with few pollers gets the query or the task first, by chance, so of twelve workflows some get the query first.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { activityInfo, CompleteAsyncError } from '@temporalio/activity';
import { Client, Connection, QueryNotRegisteredError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import type { ReplayHistoriesIterable, WorkerOptions, WorkflowBundle } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { EARLY_EVENTS } from '../../contract/names.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { until } from '../support/world.js';

installRuntimeLog(() => {});

const WORKFLOWS = 12;
const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const bundle = (workflowInterceptorModules: string[]) =>
  bundleWorkflowCode({
    workflowsPath: path('plain/early-events.ts'),
    workflowInterceptorModules,
    logger: new DefaultLogger('ERROR'),
  });

let connection: Connection;
let native: NativeConnection;
let client: Client;
let plain: WorkflowBundle;
let guarded: WorkflowBundle;

beforeAll(async () => {
  const address = inject('temporalAddress');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection });
  plain = await bundle([]);
  guarded = await bundle([path('../../workflows/refuse-early-events.ts')]);
});

afterAll(async () => {
  await connection.close();
  await native.close();
});

/** Gives its end. */
async function startWorker(options: Pick<WorkerOptions, 'taskQueue'> & Partial<WorkerOptions>) {
  const worker = await Worker.create({ connection: native, ...options });
  const stopped = worker.run();
  return async () => {
    worker.shutdown();
    await stopped;
  };
}

function startAll(type: string, taskQueue: string): Promise<WorkflowHandle[]> {
  return Promise.all(
    Array.from({ length: WORKFLOWS }, () =>
      client.workflow.start(type, { taskQueue, workflowId: `${type}-${randomUUID()}` }),
    ),
  );
}

/** The server has the queries: whatever it is asked next comes after them. */
const queriesArrive = () => new Promise((resolve) => setTimeout(resolve, 1_000));

/** Undefined where it was refused for the moment. */
async function query<T>(handle: WorkflowHandle, name: string): Promise<T | undefined> {
  try {
    return await handle.query<T>(name);
  } catch (error) {
    if (!(error instanceof QueryNotRegisteredError) || !error.message.startsWith(EARLY_EVENTS)) throw error;
    return undefined;
  }
}

interface Read {
  /** The first note, as a query saw it; undefined where it was refused, or saw none. */
  seen: string | undefined;
  refused: boolean;
  /** The first note as it is in the end. */
  noted: string | undefined;
}

async function queryBeforeTask(workflowBundle: WorkflowBundle): Promise<Read[]> {
  const taskQueue = `early-${randomUUID()}`;
  const options = { taskQueue, workflowBundle, maxCachedWorkflows: 0, maxConcurrentWorkflowTaskPolls: 1 };
  const stopFirst = await startWorker(options);
  const handles = await startAll('takeNotes', taskQueue);
  await Promise.all(handles.map((handle) => handle.query('notes')));
  await stopFirst();

  const reading = handles.map((handle) => query<string[]>(handle, 'notes'));
  await queriesArrive();
  for (const handle of handles) await handle.signal('note', 'one');
  const stopSecond = await startWorker(options);
  const reads = await Promise.all(reading);
  for (const handle of handles) {
    await handle.signal('note', 'two');
    await handle.signal('note', 'three');
  }
  const results = await Promise.all(handles.map((handle) => handle.result() as Promise<string[]>));
  await stopSecond();
  return reads.map((read, n) => ({ seen: read?.[0], refused: read === undefined, noted: results[n]?.[0] }));
}

const isWrong = ({ seen, noted }: Read) => seen !== undefined && seen !== noted;

describe('a query that comes between an event and its workflow task', () => {
  it('shows what was never committed, with a plain workflow on this SDK', async () => {
    const reads = await queryBeforeTask(plain);
    expect(reads.filter(isWrong).length).toBeGreaterThan(0);
  });

  it('is refused for the moment with our interceptor, and shows nothing that was not committed', async () => {
    const reads = await queryBeforeTask(guarded);
    expect(reads.filter(isWrong)).toEqual([]);
    expect(reads.filter(({ refused }) => refused).length).toBeGreaterThan(0);
  });
});

/** Once a query was answered or refused, a second event comes, before the task of the first one. */
async function eventBehindQuery(workflowBundle: WorkflowBundle): Promise<string[]> {
  const taskQueue = `wedge-${randomUUID()}`;
  const begun = new Set<string>();
  const waitOutside = async () => {
    begun.add(activityInfo().workflowExecution?.workflowId ?? '');
    throw new CompleteAsyncError();
  };
  const stopFirst = await startWorker({
    taskQueue,
    workflowBundle,
    maxCachedWorkflows: 0,
    activities: { waitOutside },
  });
  const handles = await startAll('hearTwo', taskQueue);
  await until(() => begun.size === WORKFLOWS, 'all activities to have begun');
  await stopFirst();

  const telling = handles.map(async (handle) => {
    await query(handle, 'is_told');
    await handle.signal('tell');
  });
  await queriesArrive();
  for (const { workflowId } of handles) await client.activity.complete({ workflowId, activityId: '1' }, undefined);
  const stopSecond = await startWorker({
    taskQueue,
    workflowBundle,
    maxCachedWorkflows: 10 * WORKFLOWS,
    maxConcurrentWorkflowTaskPolls: 2,
    maxConcurrentWorkflowTaskExecutions: 2,
  });
  await Promise.all(telling);
  await Promise.all(handles.map((handle) => handle.result()));
  await stopSecond();

  async function* histories(): ReplayHistoriesIterable {
    for (const handle of handles) yield { workflowId: handle.workflowId, history: await handle.fetchHistory() };
  }
  const failed: string[] = [];
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, histories()))
    if (error !== undefined) failed.push(error.message);
  return failed;
}

describe('a second event that comes between such a query and the task', () => {
  it('makes a history that no worker can take over, with a plain workflow on this SDK', async () => {
    const failed = await eventBehindQuery(plain);
    expect(failed.length).toBeGreaterThan(0);
    for (const message of failed) expect(message).toContain('Nondeterminism error');
  });

  it('does no harm with our interceptor', async () => {
    expect(await eventBehindQuery(guarded)).toEqual([]);
  });
});
