/** The threads that somebody may read, of those that a listing finds. */
import type { ThreadFilter } from '../client/index.js';
import type { ThreadHeader } from '../contract/thread-commands.js';
import { mayReadThread } from './own-thread.js';
import type { Principal } from './principal.js';
import type { RouteTools } from './route.js';

const DEFAULT_LIMIT = 20;

/** As it stands in a query: texts, absent or undefined. */
type ThreadQuery = {
  [Field in keyof Omit<ThreadFilter, 'org_id'>]?:
    (ThreadFilter[Field] extends Date | number | undefined ? string : ThreadFilter[Field]) | undefined;
};

export async function visibleThreads(
  { threads }: Pick<RouteTools, 'threads'>,
  principal: Principal,
  { created_after, created_before, limit, ...equal }: ThreadQuery,
): Promise<{ headers: ThreadHeader[]; next_token?: string }> {
  const { headers, ...next } = await threads.list({
    ...(Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined)) as ThreadFilter),
    ...(principal.kind === 'local' ? {} : { org_id: principal.org_id }),
    ...(created_after === undefined ? {} : { created_after: new Date(created_after) }),
    ...(created_before === undefined ? {} : { created_before: new Date(created_before) }),
    limit: limit === undefined ? DEFAULT_LIMIT : Number(limit),
  });
  return { headers: headers.filter(({ record }) => mayReadThread(principal, record)), ...next };
}
