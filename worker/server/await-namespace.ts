import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';

const POLL_MS = 25;
const CALL_TIMEOUT_MS = 5_000;
const GRPC_NOT_FOUND = 5;

export interface AwaitOptions {
  connection: Connection;
  port: number;
  namespace: string;
  /** Aborted when waiting makes no sense any more: the process has ended, or the time is over. */
  signal: AbortSignal;
}

/** Resolves when the server answers and a workflow could be started in the namespace. */
export async function awaitNamespace({ connection, port, namespace, signal }: AwaitOptions): Promise<void> {
  // The socket first: gRPC waits a second and longer before it tries a refused address again.
  await until(() => accepts(port), signal);
  const { workflowService } = connection;
  const call = <T>(make: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, make);
  let last: unknown;
  const attempt = async (): Promise<boolean> => {
    try {
      await call(() => workflowService.getSystemInfo({}));
      await call(() => workflowService.describeNamespace({ namespace }));
      return await call(() => historyAnswers(connection, namespace));
    } catch (error) {
      last = error;
      return false;
    }
  };
  await until(attempt, signal).catch((error: unknown) => {
    const why = messageOf(error);
    throw new Error(last === undefined ? why : `${why}; its last answer was: ${messageOf(last)}`);
  });
}

/** The front end is up before the history service owns its shard; asking for a run that nobody has tells. */
async function historyAnswers(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.workflowService.describeWorkflowExecution({
      namespace,
      execution: { workflowId: 'perdure-readiness-probe' },
    });
    return true;
  } catch (error) {
    const { code, details } = error as { code?: number; details?: string };
    if (code === GRPC_NOT_FOUND && !/namespace/i.test(details ?? '')) return true;
    throw error;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error));

async function until(condition: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!(await condition())) {
    signal.throwIfAborted();
    await sleep(POLL_MS);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
  });
}
