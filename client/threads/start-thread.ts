/** Starts a thread, and waits until it has taken what it begins with: what is read next is never behind it. */
import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { isErrorCode, isPerdureError, PerdureError } from '../../contract/errors.js';
import { MEMO, THREAD_MEMO, THREAD_WORKFLOW } from '../../contract/names.js';
import { threadIdFor } from '../../contract/thread-ids.js';
import type { ThreadRequest } from '../../contract/thread-request.js';
import { visibilityOf } from '../../contract/thread-visibility.js';
import { explainThread } from './read-thread.js';
import type { ThreadReader } from './read-thread.js';

const RPC_DEADLINE_MS = 10_000;
const READY_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;

export function newThreadId(agentId: string): string {
  return threadIdFor(agentId, randomUUID());
}

export async function startThread(
  client: Client,
  reader: ThreadReader,
  taskQueue: string,
  request: ThreadRequest,
): Promise<string> {
  const threadId = request.thread_id ?? newThreadId(request.agent_id);
  const { org_id, created_by, agent_id } = request;
  try {
    await client.withDeadline(Date.now() + RPC_DEADLINE_MS, () =>
      client.workflow.start(THREAD_WORKFLOW, {
        workflowId: threadId,
        taskQueue,
        args: [request],
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        staticSummary: `thread with ${agent_id}`,
        memo: {
          ...(org_id === undefined ? {} : { [MEMO.org_id]: org_id }),
          ...(created_by === undefined ? {} : { [MEMO.created_by]: created_by }),
          [THREAD_MEMO.visibility]: visibilityOf(request),
        },
      }),
    );
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) {
      throw new PerdureError('thread_exists', `there is a thread "${threadId}" already`, { cause: error });
    }
    throw explainThread(error, threadId);
  }
  await untilReady(client, reader, threadId);
  return threadId;
}

/** Throws what the thread was refused for, where it was. */
export async function untilReady(client: Client, reader: ThreadReader, threadId: string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await isReady(reader, threadId))) {
    const handle = client.workflow.getHandle(threadId);
    const { status } = await handle.describe();
    if (status.name === 'FAILED') {
      const why: unknown = await handle.result().catch((error: unknown) => error);
      const { type, message } = ((why as { cause?: unknown }).cause ?? why) as { type?: unknown; message: string };
      throw new PerdureError(isErrorCode(type) ? type : 'internal', message, { cause: why });
    }
    if (Date.now() > deadline)
      throw new PerdureError('server_unreachable', `thread ${threadId} was started, and no worker took it up in time`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** A worker that is busy takes it up a little later. */
async function isReady(reader: ThreadReader, threadId: string): Promise<boolean> {
  try {
    return (await reader.header(threadId)).ready;
  } catch (error) {
    if (isPerdureError(error) && error.code === 'server_unreachable') return false;
    throw error;
  }
}
