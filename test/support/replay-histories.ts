/** Replays histories that a test run made against the bundle that made them: what does not replay would hang one day. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { ExternalStorage } from '@temporalio/common';
import type { DataConverter, StorageDriver } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import type { ReplayHistoriesIterable } from '@temporalio/worker';
import { RUN_WORKFLOW, THREAD_WORKFLOW } from '../../contract/names.js';
import { createKeyRing } from '../../store/encryption/key-ring.js';
import { createPayloadCodec } from '../../store/encryption/payload-codec.js';
import { createDriver } from '../../store/external-storage.js';
import { createFileObjects } from '../../store/objects/file-objects.js';
import { TEST_KEYS, testKey } from './test-keys.js';
import { workflowBundlePath } from '../../worker/workflow-bundle.js';

export type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
/** Those that replay as a whole, so without what their next workflow task has still to handle. */
export type Histories = AsyncIterable<{ workflowId: string; history: History }>;

/** Of a replay nobody is told. */
const NOTHING = { fn: () => {} };

export interface Replayed {
  histories: number;
  /** By workflow and execution, with the file in which the history is kept. */
  failed: { id: string; error: string; file: string }[];
}

interface ReplayOptions {
  /** The data folders that have the payloads which left history are in this one. */
  dataDirs: string;
  /** Histories that fail are written there. */
  keepIn: string;
}

/** What a client takes in one message: a page of history can be larger than what gRPC takes by default. */
export const MOST_BYTES = 64 * 1024 * 1024;

export async function replayHistories(
  sources: readonly Histories[],
  { dataDirs, keepIn }: ReplayOptions,
): Promise<Replayed> {
  const failed: Replayed['failed'] = [];
  let histories = 0;
  const open = new Map<string, History>();

  async function* all(): ReplayHistoriesIterable {
    for (const source of sources) {
      for await (const { workflowId, history } of source) {
        histories += 1;
        const [started] = history.events ?? [];
        open.set(started?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? '', history);
        yield { workflowId, history };
      }
    }
  }

  const options = {
    workflowBundle: { codePath: workflowBundlePath() },
    dataConverter: await findingConverter(dataDirs),
    sinks: { perdure: { appended: NOTHING, interrupted: NOTHING } },
  };
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(options, all())) {
    const history = open.get(runId);
    open.delete(runId);
    if (error === undefined) continue;
    await mkdir(keepIn, { recursive: true });
    const file = join(keepIn, `${encodeURIComponent(workflowId)}.${runId}.json`);
    await writeFile(file, historyToJSON(history ?? { events: [] }));
    failed.push({ id: `${workflowId} (${runId})`, error: error.message, file });
  }
  return { histories, failed };
}

export type WorkflowList = (client: Client) => AsyncIterable<{ workflowId: string; runId: string }>;

/** Of the runs and threads on a server. */
export async function* historiesOn(
  client: Client,
  list: WorkflowList = listWorkflows,
): AsyncGenerator<{ workflowId: string; history: History }, undefined> {
  for await (const { workflowId, runId } of list(client)) {
    const history = committedPart(await client.workflow.getHandle(workflowId, runId).fetchHistory());
    if (history !== undefined) yield { workflowId, history };
  }
  return undefined;
}

/** `query` narrows them down, such as to a task queue. */
export function listWorkflows(client: Client, query?: string): ReturnType<WorkflowList> {
  const types = [RUN_WORKFLOW, THREAD_WORKFLOW].map((type) => `WorkflowType = '${type}'`).join(' OR ');
  return listed(client, query === undefined ? types : `(${types}) AND ${query}`);
}

/** As the server has them: the SDK's own list would decode memos, some of which are encrypted. */
async function* listed(
  client: Client,
  query: string,
): AsyncGenerator<{ workflowId: string; runId: string }, undefined> {
  const { namespace } = client.options;
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const page = await client.workflowService.listWorkflowExecutions({ namespace, query, nextPageToken });
    for (const { execution } of page.executions)
      yield { workflowId: execution?.workflowId ?? '', runId: execution?.runId ?? '' };
    ({ nextPageToken } = page);
  } while (nextPageToken.length > 0);
  return undefined;
}

/** Finds a payload in whichever data folder it was stored. */
async function findingConverter(dataDirs: string): Promise<DataConverter> {
  const folders = (await readdir(dataDirs)).map((name) => join(dataDirs, name, 'payloads'));
  const payloadCodecs = [createPayloadCodec(createKeyRing([...TEST_KEYS, testKey('from-kms')]))];
  const finding = (kind: 'files' | 's3'): StorageDriver => {
    const drivers = folders.map((folder) => createDriver(kind, createFileObjects(folder)));
    return {
      ...createDriver(kind, createFileObjects(dataDirs)),
      retrieve: (context, claims) => Promise.any(drivers.map((driver) => driver.retrieve(context, claims))),
    };
  };
  const drivers = [finding('files'), finding('s3')];
  const [files] = drivers;
  const externalStorage = new ExternalStorage({
    drivers,
    driverSelector: () => files ?? null,
    payloadSizeThreshold: 1024 * 1024 * 1024,
  });
  return { payloadCodecs, externalStorage };
}

/** Without what its next workflow task has still to handle; undefined where nothing was handled yet. */
function committedPart(history: History): History | undefined {
  const events = history.events ?? [];
  const last = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes != null);
  if (last === -1) return undefined;
  const task = Number(events[last]?.eventId);
  let end = last + 1;
  while (end < events.length && causeOf(events[end]) === task) end += 1;
  return { ...history, events: events.slice(0, end) } as History;
}

/** Of an event that a command made: the workflow task whose command it was. */
function causeOf(event: NonNullable<History['events']>[number] | undefined): number | undefined {
  for (const [name, attributes] of Object.entries(event ?? {})) {
    if (!name.endsWith('EventAttributes') || attributes == null) continue;
    const { workflowTaskCompletedEventId } = attributes as { workflowTaskCompletedEventId?: unknown };
    if (workflowTaskCompletedEventId != null) return Number(workflowTaskCompletedEventId);
  }
  return undefined;
}
