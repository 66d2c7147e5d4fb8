/** `perdure ls`: which runs there are, the newest first. */
import type { ListedRun } from '../client/index.js';
import type { AwaitKind } from '../contract/awaits.js';
import type { RunPhase } from '../contract/run.js';
import { readRuns } from './connect-to-runs.js';
import { EXIT } from './exit-codes.js';
import { duration, localTime } from './format.js';
import { listPages, printListing } from './list-pages.js';
import type { FoundBy } from './repeat-flags.js';

export interface LsFlags extends FoundBy {
  agent?: string;
  phase?: RunPhase;
  waiting?: boolean;
  limit: number;
  json?: boolean;
}

const LARGEST_PAGE = 200;

const WAITS_FOR: Record<AwaitKind, string> = {
  clarification: 'an answer',
  external_tools: 'tool results',
  approval: 'approval',
};

export function ls({ agent, phase, waiting, limit, json = false, ...flags }: LsFlags): Promise<number> {
  const filter = {
    ...(agent === undefined ? {} : { agent_id: agent }),
    ...(phase === undefined ? {} : { phase }),
    ...(waiting === undefined ? {} : { waiting }),
  };
  return readRuns(undefined, flags, async ({ client: { runs } }) => {
    const { items, isCut } = await listPages(limit, LARGEST_PAGE, async (page) => {
      const { runs: found, ...next } = await runs.list({ ...filter, ...page });
      return { items: found, ...next };
    });
    // Temporal gives those that are open first.
    const newest = items.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
    const heading = ['run', 'agent', 'phase', 'waits for', 'started', 'took'];
    printListing({ items: newest, isCut }, { noun: 'runs', heading, row: (run) => rowOf(run, Date.now()), json });
    return EXIT.success;
  });
}

function rowOf({ run_id, agent_id = '', phase, waiting, engine_status, created_at, ended_at }: ListedRun, now: number) {
  // Those ends leave the run no time to write its own.
  const isCutOff = engine_status === 'terminated' || engine_status === 'timed_out';
  const end = ended_at === undefined ? now : Date.parse(ended_at);
  return [
    run_id,
    agent_id,
    isCutOff ? engine_status : (phase ?? engine_status),
    waiting === undefined ? '' : WAITS_FOR[waiting],
    localTime(created_at),
    duration(Math.max(0, end - Date.parse(created_at))),
  ];
}
