/** What commands do with runs and threads, over Temporal or through a gateway. */
import type { Client } from '@temporalio/client';
import type { RunFilter, RunPage, Runs, Threads } from '../client/index.js';
import { summarizeThread } from '../contract/thread-summary.js';
import type { ThreadSummary, ThreadSummaryPage } from '../contract/thread-summary.js';

export type RunCommands = Pick<
  Runs,
  'start' | 'stream' | 'get' | 'cancel' | 'answerClarification' | 'submitToolResults' | 'decideApproval'
> & {
  list(filter: Pick<RunFilter, 'agent_id' | 'phase' | 'waiting' | 'limit' | 'cursor'>): Promise<RunPage>;
};

export interface RunsClient {
  client: { readonly runs: RunCommands };
  /** Absent where a gateway stands between. */
  temporal?: Client;
  /** An artefact that the run's log names. */
  readArtefact(runId: string, id: string): Promise<Uint8Array>;
}

export interface ThreadCommands {
  list(filter: { agent_id?: string; limit?: number; cursor?: string }): Promise<ThreadSummaryPage>;
  get(threadId: string): Promise<ThreadSummary>;
}

/** Over Temporal what a gateway gives. */
export function threadCommands(threads: Pick<Threads, 'list' | 'header'>): ThreadCommands {
  return {
    async list({ cursor, ...filter }) {
      const page = cursor === undefined ? {} : { page_token: cursor };
      const { headers, next_token } = await threads.list({ ...filter, ...page });
      return {
        threads: headers.map(summarizeThread),
        ...(next_token === undefined ? {} : { next_cursor: next_token }),
      };
    },
    get: async (threadId) => summarizeThread(await threads.header(threadId)),
  };
}
