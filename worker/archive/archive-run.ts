/**
 * Copies one run that has ended into the archive.
 *
 * A1  Only what the server calls closed: its log is complete then, and will never be another one.
 * A2  The log is what the workflow wrote, byte for byte: as this worker heard it, where the history proves that all of
 *     it was committed (`worker/heard-logs.ts`), else as a worker reads it by replay.
 * A3  Whoever comes second changes nothing, so it can be tried as often as one likes.
 */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { notedIn } from '../../client/describe-run.js';
import type { RunRecord } from '../../client/describe-run.js';
import { executionOf } from '../../client/execution.js';
import type { Execution } from '../../client/execution.js';
import { readClosedLog } from '../../client/read-log.js';
import { RUN_WORKFLOW } from '../../contract/names.js';
import type { DurableEvent } from '../../contract/events.js';
import { lastCompletedTask } from '../../live/history.js';
import type { Archive } from '../../store/archive/archive.js';
import type { PutResult } from '../../store/archive/put-run.js';
import { summarizeRun } from './summarize-run.js';

export interface ArchiveRunOptions {
  client: Client;
  archive: Pick<Archive, 'putRun' | 'getSummary' | 'findMissing'>;
}

/** `open`: it has not ended. `gone`: the server does not know it any more. `unread`: no worker is there to read it. */
export type Archiving = PutResult | 'open' | 'gone' | 'unread';

const DEADLINE_MS = 5_000;

export async function archiveRun(
  options: ArchiveRunOptions,
  runId: string,
  heard: (runId: string) => Promise<string[] | undefined> = async () => undefined,
  canRead: () => boolean = () => true,
): Promise<Archiving> {
  const { client, archive } = options;
  const described = await describe(client, runId);
  if (described === undefined || described.type !== RUN_WORKFLOW) return 'gone';
  const execution = executionOf(described);
  if (execution.isOpen) return 'open';
  if ((await archive.findMissing([runId])).length === 0) return 'present';
  const texts = (await heard(runId)) ?? (canRead() ? await readTexts(client, execution) : undefined);
  if (texts === undefined) return 'unread';
  const known = {
    run_id: runId,
    ...(await ownerOf(options, runId, notedIn(described))),
    engine_status: described.status.name,
    started_at: described.startTime.toISOString(),
    ended_at: (described.closeTime ?? described.startTime).toISOString(),
  };
  const events = texts.map((text) => JSON.parse(text) as DurableEvent);
  return archive.putRun(summarizeRun(known, events), texts);
}

async function readTexts(client: Client, execution: Execution): Promise<string[]> {
  // One that was ended before a worker had it has no log, and no worker could say so.
  const isFirst = execution.runId === execution.firstRunId;
  if (isFirst && (await lastCompletedTask(client, execution)) === undefined) return [];
  const texts: string[] = [];
  for await (const text of readClosedLog(client, execution)) texts.push(text);
  return texts;
}

/** A child is its root's, and a turn its thread's: where the namespace lacks our attributes, only those say it. */
async function ownerOf(
  { client, archive }: ArchiveRunOptions,
  runId: string,
  noted: Omit<RunRecord, 'run_id'>,
): Promise<Omit<RunRecord, 'run_id'>> {
  const [root = ''] = runId.split('/');
  if (root === runId || noted.org_id !== undefined || noted.created_by !== undefined) return noted;
  const above = await describe(client, root);
  const { org_id, created_by } = above === undefined ? ((await archive.getSummary(root)) ?? {}) : notedIn(above);
  return {
    ...noted,
    ...(org_id === undefined ? {} : { org_id }),
    ...(created_by === undefined ? {} : { created_by }),
  };
}

async function describe(client: Client, workflowId: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.withDeadline(Date.now() + DEADLINE_MS, () => client.workflow.getHandle(workflowId).describe());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
