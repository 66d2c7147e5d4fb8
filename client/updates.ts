/**
 * Commands to a workflow as updates: who sends one hears whether it was taken.
 *
 * U1  The server lets ten be in flight for one workflow. This process sends a few at a time, the others wait their turn;
 *     where the line is too long, or the server still has no room, the sender is told to come back, and when.
 * U2  One that meets the end of a part of its workflow goes to the next part: only where there is none is it unknown.
 * U3  Where the server takes no more updates of this part at all, it goes as a signal.
 */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { commandBySignal, HISTORY_ROOM, tooMany } from './command-signals.js';
import type { HistoryRoom } from './command-signals.js';
import { findExecution } from './execution.js';
import { grpcError } from '../live/server-reason.js';

const MOST_IN_FLIGHT = 3;
const MOST_WAITING = 300;
const MOVE_WAITS_MS = [50, 100, 200, 400];
/** Codes of gRPC. */
const [RESOURCE_EXHAUSTED, FAILED_PRECONDITION] = [8, 9];

export interface Updates {
  execute<T>(workflowId: string, name: string, command: object, options: UpdateOptions): Promise<T>;
}

interface UpdateOptions {
  deadlineMs: number;
  /** The same id, sent again, is the same command. */
  updateId?: string | undefined;
}

export interface UpdateLimits {
  /** Commands that wait for those before them, of one run or thread; 300 by default. */
  waiting_commands?: number;
  /** How long the history of a run or thread may be for commands to be sent as signals. */
  history_room?: HistoryRoom;
}

interface Line {
  inFlight: number;
  waiting: (() => void)[];
}

export function createUpdates(client: Client, limits: UpdateLimits = {}): Updates {
  const { waiting_commands: mostWaiting = MOST_WAITING, history_room: room = HISTORY_ROOM } = limits;
  const lines = new Map<string, Line>();

  async function inTurn<T>(workflowId: string, send: () => Promise<T>): Promise<T> {
    const line = lines.get(workflowId) ?? { inFlight: 0, waiting: [] };
    lines.set(workflowId, line);
    if (line.waiting.length >= mostWaiting) throw tooMany(workflowId);
    if (line.inFlight >= MOST_IN_FLIGHT) await new Promise<void>((resolve) => line.waiting.push(resolve));
    line.inFlight += 1;
    try {
      return await send();
    } finally {
      line.inFlight -= 1;
      line.waiting.shift()?.();
      if (line.inFlight === 0 && line.waiting.length === 0) lines.delete(workflowId);
    }
  }

  async function send<T>(workflowId: string, name: string, command: object, options: UpdateOptions): Promise<T> {
    const { deadlineMs, updateId = randomUUID() } = options;
    for (let n = 0; ; n++) {
      try {
        return await client.withDeadline(Date.now() + deadlineMs, () =>
          client.workflow.getHandle(workflowId).executeUpdate<T, [object]>(name, { args: [command], updateId }),
        );
      } catch (error) {
        if (isUsedUp(error))
          return commandBySignal<T>(client, workflowId, { id: updateId, name, command }, { deadlineMs, room });
        if (grpcError(error)?.code === RESOURCE_EXHAUSTED) throw tooMany(workflowId, error);
        const wait = MOVE_WAITS_MS[n];
        if (!(error instanceof WorkflowNotFoundError) || wait === undefined) throw error;
        if ((await findExecution(client, workflowId))?.isOpen !== true) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  return {
    execute: <T>(workflowId: string, name: string, command: object, options: UpdateOptions) =>
      inTurn(workflowId, () => send<T>(workflowId, name, command, options)),
  };
}

/** U3. Servers have said it with either code; of those in flight they say something else. */
function isUsedUp(error: unknown): boolean {
  const { code, details = '' } = grpcError(error) ?? {};
  return (code === FAILED_PRECONDITION || code === RESOURCE_EXHAUSTED) && /\btotal\b.*\bupdates\b/i.test(details);
}
