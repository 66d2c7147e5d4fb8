/**
 * Commands as signals, for a workflow of which the server takes no more updates: a turn that is open for long, or waits,
 * keeps its thread from continuing as new, and whoever has to answer or to stop it must get through all the same.
 *
 * G1  The sender hears what became of its command, as of an update.
 * G2  A history has an end, too. Well before it nothing more is sent, and later still nothing but what can end a turn.
 */
import { randomUUID } from 'node:crypto';
import { QueryNotRegisteredError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { CommandOutcome, CommandSignal, OutcomeAnswer, OutcomeRequest } from '../contract/command-signal.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import {
  ANSWER_CLARIFICATION,
  CANCEL,
  CANCEL_TURN,
  COMMAND,
  DECIDE_APPROVAL,
  DELETE_THREAD,
  READ_OUTCOME,
  READ_THREAD,
  SEND_MESSAGE,
  SEND_MESSAGES,
  SUBMIT_TOOL_RESULTS,
} from '../contract/names.js';
import type { PageRequest } from '../contract/pages.js';
import type { ThreadPage } from '../contract/thread-commands.js';
import { threadStatus } from '../contract/thread-status.js';
import { queryCommitted } from './committed-query.js';
import { readExecution } from './execution.js';
import type { Execution } from './execution.js';
import { unreachable } from './explain-error.js';
import { grpcError } from '../live/server-reason.js';

/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;
const RETRY_AFTER_MS = 2_000;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

interface HistorySize {
  events: number;
  bytes: number;
}

/** Up to which size of a history a command is sent as a signal. */
export interface HistoryRoom {
  anything: HistorySize;
  what_ends_a_turn: HistorySize;
}

const MIB = 1024 * 1024;
/** The server ends a workflow at 51,200 events, or at 50 MiB. */
export const HISTORY_ROOM: HistoryRoom = {
  anything: { events: 30_000, bytes: 20 * MIB },
  what_ends_a_turn: { events: 45_000, bytes: 40 * MIB },
};

const ENDS_A_TURN: ReadonlySet<string> = new Set([
  ANSWER_CLARIFICATION,
  CANCEL,
  CANCEL_TURN,
  DECIDE_APPROVAL,
  DELETE_THREAD,
  SUBMIT_TOOL_RESULTS,
]);

export async function commandBySignal<T>(
  client: Client,
  workflowId: string,
  command: CommandSignal,
  { deadlineMs, room }: { deadlineMs: number; room: HistoryRoom },
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  const signal: CommandSignal = { ...command, attempt: randomUUID() };
  // It may have come before. And a worker of an earlier release, which knows no such signal, knows no such query.
  const before = await readOutcome(client, workflowId, signal).catch((error: unknown) => {
    throw error instanceof QueryNotRegisteredError ? tooMany(workflowId, error) : error;
  });
  if (before !== undefined) return settled<T>(before);
  const execution = await readExecution(client, workflowId);
  const isRoom =
    hasRoom(execution, room.anything) ||
    (hasRoom(execution, room.what_ends_a_turn) && (await endsTurn(client, workflowId, signal.name)));
  if (!isRoom) throw tooMany(workflowId);
  await sendSignal<CommandSignal>(client, workflowId, COMMAND, signal, deadlineMs);
  for (let n = 0; Date.now() < deadline; n++) {
    const outcome = await readOutcome(client, workflowId, signal).catch((error: unknown) => {
      // It was told, and is not told again because a worker was slow to say what became of it.
      if (explained(error)?.code !== 'server_unreachable') throw error;
      return undefined;
    });
    if (outcome !== undefined) return settled<T>(outcome);
    await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** n)));
  }
  throw new PerdureError('server_unreachable', `${workflowId} was told, and no worker has said yet what became of it`);
}

function hasRoom({ historyLength, historyBytes }: Execution, { events, bytes }: HistorySize): boolean {
  return historyLength <= events && historyBytes <= bytes;
}

/** In a thread that asks, a message is the answer. */
async function endsTurn(client: Client, workflowId: string, name: string): Promise<boolean> {
  if (name !== SEND_MESSAGE && name !== SEND_MESSAGES) return ENDS_A_TURN.has(name);
  const nothing = { from: Number.MAX_SAFE_INTEGER };
  const { header } = await queryCommitted<ThreadPage, PageRequest>(client, workflowId, READ_THREAD, nothing);
  return threadStatus(header) === 'waiting_for_answer';
}

/** The server takes 10,000 in one execution. */
export async function sendSignal<T>(
  client: Client,
  workflowId: string,
  name: string,
  argument: T,
  deadlineMs: number,
): Promise<void> {
  try {
    await client.withDeadline(Date.now() + deadlineMs, () =>
      client.workflow.getHandle(workflowId).signal<[T]>(name, argument),
    );
  } catch (error) {
    const { code, details = '' } = grpcError(error) ?? {};
    throw code === INVALID_ARGUMENT && /limit for signal/i.test(details) ? tooMany(workflowId, error) : error;
  }
}

function explained(error: unknown): PerdureError | undefined {
  return isPerdureError(error) ? error : unreachable(error, 'to a command');
}

async function readOutcome(
  client: Client,
  workflowId: string,
  { id, attempt }: CommandSignal,
): Promise<CommandOutcome | undefined> {
  const request = { id, ...(attempt === undefined ? {} : { attempt }) };
  const asked = await queryCommitted<OutcomeAnswer, OutcomeRequest>(client, workflowId, READ_OUTCOME, request);
  return asked.outcome;
}

/** A refusal as an update has it. */
function settled<T>(outcome: CommandOutcome): T {
  if ('answer' in outcome) return outcome.answer as T;
  const cause = ApplicationFailure.nonRetryable(outcome.message, outcome.code);
  throw new WorkflowUpdateFailedError('The command was refused', cause);
}

export function tooMany(workflowId: string, cause?: unknown): PerdureError {
  return new PerdureError('rate_limited', `${workflowId} is being sent more than it can take`, {
    retry_after_ms: RETRY_AFTER_MS,
    cause,
  });
}
