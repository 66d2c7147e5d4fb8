/** `perdure threads`: which conversations there are, and whose turn it is. */
import { readRuns } from './connect-to-runs.js';
import { EXIT } from './exit-codes.js';
import { line, localTime } from './format.js';
import { listPages, printListing } from './list-pages.js';
import type { FoundBy } from './repeat-flags.js';

export interface ThreadsFlags extends FoundBy {
  agent?: string;
  limit: number;
  json?: boolean;
}

const LARGEST_PAGE = 50;
const TITLE_LENGTH = 40;

export function threads({ agent, limit, json = false, ...flags }: ThreadsFlags): Promise<number> {
  const filter = agent === undefined ? {} : { agent_id: agent };
  return readRuns(undefined, flags, async ({ threads: commands }) => {
    const listing = await listPages(limit, LARGEST_PAGE, async (page) => {
      const { threads: found, ...next } = await commands.list({ ...filter, ...page });
      return { items: found, ...next };
    });
    const heading = ['thread', 'status', 'title', 'agent', 'created'];
    printListing(listing, {
      noun: 'threads',
      heading,
      row: ({ thread_id, title = '', agent_id, status, created_at }) => [
        thread_id,
        status.replaceAll('_', ' '),
        line(title, TITLE_LENGTH),
        agent_id,
        localTime(created_at),
      ],
      json,
    });
    return EXIT.success;
  });
}
