/**
 * A query whose answer is made of what is committed, and of nothing else.
 *
 * A worker answers with what it has handled. That can be more than what the server has taken as done: see
 * docs/queries.md. So the answer says after which workflow task it was made (`as_of`), and the server says whether that
 * task is completed.
 */
import { QueryNotRegisteredError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { PerdureError } from '../contract/errors.js';
import { EARLY_EVENTS } from '../contract/names.js';
import type { AsOf } from '../contract/queries.js';
import { taskOutcome } from '../live/history.js';
import { readExecution } from './execution.js';
import type { Execution } from './execution.js';
import { grpcError } from '../live/server-reason.js';

/**
 * How long each try may take. The server may hand a query to a worker that has just died: the next try goes to another
 * one. Or the worker loses it, where the run has just ended (docs/queries.md): so the first try is short.
 */
const TRIES_MS = { open: [1_000, 2_000, 4_000], ended: [1_000, 4_000, 20_000] };
/** A run that has ended is replayed for its reader: each try has so much more time for each byte of its history. */
const REPLAY_MS_PER_BYTE = 2 / 1_024;
/** A task that is pending is waited for a little: most end in milliseconds, and then there is nothing to be doubted. */
const PATIENCE_MS = 100;
const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 200;
/** Refused for the moment, or not committed yet, for so long. */
const UNSETTLED_MS = 8_000;

export async function queryCommitted<T extends AsOf, R>(
  client: Client,
  workflowId: string,
  query: string,
  request: R,
  known?: Execution,
): Promise<T> {
  const began = Date.now();
  let tries = 0;
  for (let n = 0; ; n++) {
    if (n > 0) await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (n - 1)));
    const execution = n === 0 && known !== undefined ? known : await readExecution(client, workflowId);
    if (execution.hasTask && Date.now() - began < PATIENCE_MS) continue;
    const limits = execution.isOpen ? TRIES_MS.open : TRIES_MS.ended;
    const limit = limits[Math.min(tries, limits.length - 1)] ?? 0;
    const replay = execution.isOpen ? 0 : Math.ceil(execution.historyBytes * REPLAY_MS_PER_BYTE);
    try {
      const answer = await ask<T, R>(client, execution, query, request, limit + replay);
      if (answer !== undefined && (await isCommitted(client, execution, answer))) return answer;
      if (Date.now() - began > UNSETTLED_MS) throw tooBusy(workflowId);
    } catch (error) {
      tries += 1;
      if (!isTimeout(error) || tries >= limits.length) throw error;
    }
  }
}

/** Undefined where it was refused for the moment. */
async function ask<T, R>(
  client: Client,
  { workflowId, runId }: Execution,
  query: string,
  request: R,
  limit: number,
): Promise<T | undefined> {
  try {
    return await client.withDeadline(Date.now() + limit, () =>
      client.workflow.getHandle(workflowId, runId).query<T, [R]>(query, request),
    );
  } catch (error) {
    if (error instanceof QueryNotRegisteredError && error.message.startsWith(EARLY_EVENTS)) return undefined;
    throw error;
  }
}

async function isCommitted(client: Client, before: Execution, { as_of }: AsOf): Promise<boolean> {
  // A worker of an earlier release does not say.
  if (!before.isOpen || as_of === undefined) return true;
  if (!before.hasTask && as_of <= before.historyLength) return true;
  const { state } = await taskOutcome(client, before, as_of);
  if (state !== 'open' || before.hasTask) return state === 'completed';
  // A task that only refused an update leaves no trace in the history. Where nothing was to be done before and after,
  // there is nothing either that could have been handled early.
  const after = await readExecution(client, before.workflowId);
  return !after.hasTask && after.runId === before.runId && after.historyLength === before.historyLength;
}

/** grpc.status */
const [CANCELLED, DEADLINE_EXCEEDED] = [1, 4];

/** The server knows the time limit too, and where it is the first to give up, it cancels. */
function isTimeout(error: unknown): boolean {
  const code = grpcError(error)?.code;
  return code === DEADLINE_EXCEEDED || code === CANCELLED;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function tooBusy(workflowId: string): PerdureError {
  return new PerdureError(
    'server_unreachable',
    `${workflowId} could not be read for ${UNSETTLED_MS / 1_000} s: its workflow task is pending, and no worker completes it`,
  );
}
