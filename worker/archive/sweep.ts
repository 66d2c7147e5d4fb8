/**
 * Finds the runs that have ended and are not in the archive, and copies them: their worker died, the database was away,
 * or they ended before there was an archive.
 *
 * S1  It asks the server's visibility for what closed since the last sweep that came to its end, and a little before,
 *     since listings lag. So its cost is that of what is new, however much there is.
 * S2  One sweep at a time, by a lease in the database; it can be done again from the beginning at any point.
 * S3  What cannot be read is put off and tried again by later sweeps, and holds up nothing.
 */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { listExecutions, quoted } from '../../client/visibility.js';
import { isPerdureError } from '../../contract/errors.js';
import { RUN_WORKFLOW } from '../../contract/names.js';
import type { SweepResult } from '../../contract/activities.js';
import type { Archive } from '../../store/archive/archive.js';
import { archiveRun } from './archive-run.js';

export interface SweepOptions {
  client: Client;
  archive: Pick<Archive, 'putRun' | 'getSummary' | 'findMissing' | 'sweeps'>;
  taskQueue: string;
  /** Still at it: called now and then. */
  onProgress?: (done: SweepResult) => void;
  overlapMs?: number;
  signal?: AbortSignal;
}

const PAGE = 200;
const AT_ONCE = 4;
const LEASE_MS = 60_000;
/** How far a listing may be behind. */
const OVERLAP_MS = 10 * 60_000;
const PUT_OFF_PER_SWEEP = 500;

/** Undefined where another one is at it. */
export async function sweepArchive(options: SweepOptions): Promise<SweepResult | undefined> {
  const { client, archive, taskQueue, onProgress = () => {}, overlapMs = OVERLAP_MS, signal } = options;
  const { sweeps } = archive;
  const name = `${client.options.namespace}/${taskQueue}`;
  const holder = randomUUID();
  const held = await sweeps.hold(name, holder, LEASE_MS);
  if (held === undefined) return undefined;
  const done: SweepResult = { looked_at: 0, archived: 0, put_off: 0 };
  const began = Date.now();
  let sweptTo: number | undefined;
  try {
    await takeIn(await sweeps.due(name, PUT_OFF_PER_SWEEP));
    const since = held.sweptTo === undefined ? undefined : held.sweptTo - overlapMs;
    for await (const page of closedRuns(client, taskQueue, since)) {
      done.looked_at += page.length;
      await takeIn(await archive.findMissing(page));
    }
    sweptTo = began;
  } finally {
    await sweeps.release(name, holder, sweptTo);
  }
  return done;

  async function takeIn(runIds: readonly string[]): Promise<void> {
    for (let n = 0; n < runIds.length; n += AT_ONCE) {
      await unlessAborted(Promise.all(runIds.slice(n, n + AT_ONCE).map(takeInOne)), signal);
      await prolong();
      onProgress(done);
    }
    if (runIds.length === 0) await prolong();
  }

  async function prolong(): Promise<void> {
    if (!(await sweeps.prolong(name, holder, LEASE_MS)))
      throw new Error(`the sweep of ${name} was taken by another one`);
  }

  async function takeInOne(runId: string): Promise<void> {
    try {
      const result = await archiveRun({ client, archive }, runId);
      if (result === 'stored') done.archived += 1;
      if (result !== 'open') await sweeps.settle([runId]);
    } catch (error) {
      // Without the database nothing can be noted either.
      if (isPerdureError(error) && error.code.startsWith('database_')) throw error;
      await sweeps.putOff(name, runId, error instanceof Error ? error.message : String(error));
      done.put_off += 1;
    }
  }
}

/** A worker that stops does not wait for a run that is just being read: the next sweep finds it again. */
async function unlessAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  let leave = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal?.reason as Error);
    if (signal?.aborted === true) leave();
    signal?.addEventListener('abort', leave, { once: true });
  });
  work.catch(() => {});
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

async function* closedRuns(
  client: Client,
  taskQueue: string,
  since: number | undefined,
): AsyncGenerator<string[], undefined> {
  const query = [
    `WorkflowType = '${RUN_WORKFLOW}'`,
    `TaskQueue = ${quoted('task queue', taskQueue)}`,
    `ExecutionStatus != 'Running'`,
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(since === undefined ? [] : [`CloseTime >= '${new Date(since).toISOString()}'`]),
  ].join(' AND ');
  let cursor: string | undefined;
  do {
    const { executions, next } = await listExecutions(client, query, { limit: PAGE, cursor });
    yield [...new Set(executions.map(({ execution }) => execution?.workflowId ?? ''))];
    cursor = next;
  } while (cursor !== undefined);
  return undefined;
}
