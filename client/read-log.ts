/** Reading a run's log by query, with a deadline: a query without a worker to answer it must not hang its caller. */
import type { Client } from '@temporalio/client';
import type { DurableEvent } from '../contract/events.js';
import { READ_LOG } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { LogPage, LogPageRequest } from '../contract/queries.js';
import type { CommittedEvent } from '../live/channel.js';

const QUERY_DEADLINE_MS = 5_000;

export type ReadLogPage = (request: LogPageRequest) => Promise<LogPage>;

export function logReader(client: Client, runId: string): ReadLogPage {
  const handle = client.workflow.getHandle(runId);
  return (request) =>
    client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () =>
      handle.query<LogPage, [LogPageRequest]>(READ_LOG, request),
    );
}

/** Events from `from` (negative: from the end) up to the tail as it is now. */
export async function* readEvents(read: ReadLogPage, from: number): AsyncGenerator<CommittedEvent> {
  for await (const { index, text } of readPages(read, from)) {
    yield { seq: index, text, event: JSON.parse(text) as DurableEvent };
  }
}
