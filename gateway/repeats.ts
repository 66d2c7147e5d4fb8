/**
 * How a request of a caller is known again, when it is sent once more without a key: see `contract/request-mark.ts`.
 * With an `Idempotency-Key`, or an id of the caller's choice, that decides instead.
 */
import type { Begun } from '../client/index.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { RequestMark } from '../contract/request-mark.js';
import type { AgentThreadRecord } from '../contract/thread-records.js';
import { chosenRunId, digestOf } from './idempotency.js';
import { principalKey } from './principal.js';
import type { Principal } from './principal.js';
import type { RouteTools } from './route.js';

/** The principal, for a thread to remember without knowing who it is. */
export function readerOf(principal: Principal): string {
  return digestOf(['reader', principalKey(principal)]);
}

export function markOf(principal: Principal, where: string, body: unknown): RequestMark {
  return { by: readerOf(principal), digest: digestOf([where, body]), at: Date.now() };
}

interface BeginOnce {
  tools: RouteTools;
  principal: Principal;
  request: Request;
  /** Who will answer in it. */
  agentId: string;
  mark: RequestMark;
  /** The caller's own choice. */
  threadId?: string | undefined;
}

/** Begins a thread with the id that it is given, or gives the one that the same request has begun before. */
export async function beginThreadOnce(
  { tools, principal, request, agentId, mark, threadId }: BeginOnce,
  begin: (threadId: string) => Promise<AgentThreadRecord>,
): Promise<Begun> {
  // A run that was started under the same key is another thing.
  const chosen = chosenRunId(principal, threadId, request.headers.get('idempotency-key'))?.replace(/^key_/, 'thr_key_');
  if (chosen === undefined) return tools.threads.beginOnce(agentId, mark, begin);
  try {
    return { record: await begin(chosen), created: true };
  } catch (error) {
    if (!isPerdureError(error) || error.code !== 'thread_exists') throw error;
    const taken = () => new PerdureError('thread_exists', `the thread id "${chosen}" is taken`, { cause: error });
    const header = await tools.threads.header(chosen).catch((gone: unknown) => {
      throw isPerdureError(gone) && gone.code === 'unknown_thread' ? taken() : gone;
    });
    if (header.mark?.by !== mark.by) throw taken();
    if (header.mark.digest !== mark.digest) throw conflict(`thread ${chosen} was begun`);
    return { record: await tools.threads.get(chosen), created: false };
  }
}

/** Of an update: the same key of the same principal is the same command. */
export function keyOf(principal: Principal, request: Request): string | undefined {
  return chosenRunId(principal, undefined, request.headers.get('idempotency-key'));
}

export function conflict(what: string): PerdureError {
  return new PerdureError('idempotency_conflict', `${what} by another request than this one, under the same key or id`);
}
