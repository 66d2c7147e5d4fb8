/**
 * Commands to a workflow as updates: who sends one hears whether it was taken.
 *
 * U1  The server lets ten be in flight for one workflow. This process sends a few at a time, the others wait their turn;
 *     where the line is too long, or the server still has no room, the sender is told to come back, and when.
 * U2  One that meets the end of a part of its workflow goes to the next part: only where there is none is it unknown.
 */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { PerdureError } from '../contract/errors.js';
import { findExecution } from './execution.js';

const MOST_IN_FLIGHT = 3;
const MOST_WAITING = 300;
const RETRY_AFTER_MS = 2_000;
const MOVE_WAITS_MS = [50, 100, 200, 400];
/** grpc.status.RESOURCE_EXHAUSTED */
const RESOURCE_EXHAUSTED = 8;

export interface Updates {
  execute<T>(workflowId: string, name: string, command: object, options: UpdateOptions): Promise<T>;
}

interface UpdateOptions {
  deadlineMs: number;
  /** The same id, sent again, is the same command. */
  updateId?: string | undefined;
}

interface Line {
  inFlight: number;
  waiting: (() => void)[];
}

export function createUpdates(client: Client): Updates {
  const lines = new Map<string, Line>();

  async function inTurn<T>(workflowId: string, send: () => Promise<T>): Promise<T> {
    const line = lines.get(workflowId) ?? { inFlight: 0, waiting: [] };
    lines.set(workflowId, line);
    if (line.waiting.length >= MOST_WAITING) throw tooMany(workflowId);
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
    const { deadlineMs, updateId } = options;
    for (let n = 0; ; n++) {
      try {
        return await client.withDeadline(Date.now() + deadlineMs, () =>
          client.workflow.getHandle(workflowId).executeUpdate<T, [object]>(name, {
            args: [command],
            ...(updateId === undefined ? {} : { updateId }),
          }),
        );
      } catch (error) {
        if (isExhausted(error)) throw tooMany(workflowId, error);
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

function isExhausted(error: unknown): boolean {
  const cause = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  return isGrpcServiceError(cause) && cause.code === RESOURCE_EXHAUSTED;
}

function tooMany(workflowId: string, cause?: unknown): PerdureError {
  return new PerdureError('rate_limited', `${workflowId} is being sent more than it can take`, {
    retry_after_ms: RETRY_AFTER_MS,
    cause,
  });
}
