/** The archive: runs that are over, with their logs. It is a copy of closed logs, and never the truth of an open one. */
import type { Database } from '../database/open-database.js';
import type { ArchivedRun, RunSummary } from './archived-run.js';
import { deleteRuns } from './delete-runs.js';
import type { Deletion } from './delete-runs.js';
import { listRuns } from './list-runs.js';
import type { ArchiveFilter, ArchivePage } from './list-runs.js';
import { putRun } from './put-run.js';
import type { PutResult } from './put-run.js';
import { findMissing } from './find-missing.js';
import { getRun, getSummary, readEvents } from './read-run.js';
import type { ArchivedEvent } from './read-run.js';
import { createSweeps } from './sweeps.js';
import type { Sweeps } from './sweeps.js';
import { usage } from './usage.js';
import type { UsageQuery, UsageRow } from './usage.js';

export interface Archive {
  /** The whole log, one event each. Exactly once, however often and by however many it is tried. */
  putRun(run: Omit<ArchivedRun, 'tail'>, events: Iterable<string> | AsyncIterable<string>): Promise<PutResult>;
  getRun(runId: string): Promise<ArchivedRun | undefined>;
  /** Without its texts. */
  getSummary(runId: string): Promise<RunSummary | undefined>;
  /** Which of these it does not have. */
  findMissing(runIds: readonly string[]): Promise<string[]>;
  readEvents(runId: string, from?: number): AsyncGenerator<ArchivedEvent>;
  listRuns(filter: ArchiveFilter, cursor: string | undefined, limit: number): Promise<ArchivePage>;
  /** False where it was not there; it will not be taken in any more either way. */
  deleteRun(runId: string): Promise<boolean>;
  /** How many went. */
  deleteBy(deletion: Exclude<Deletion, { run_id: string }>): Promise<number>;
  usage(query: UsageQuery): Promise<UsageRow[]>;
  sweeps: Sweeps;
}

export function createArchive(database: Database): Archive {
  return {
    putRun: (run, events) => putRun(database, run, events),
    getRun: (runId) => getRun(database, runId),
    getSummary: (runId) => getSummary(database, runId),
    findMissing: (runIds) => findMissing(database, runIds),
    readEvents: (runId, from) => readEvents(database, runId, from),
    listRuns: (filter, cursor, limit) => listRuns(database, filter, cursor, limit),
    deleteRun: async (runId) => (await deleteRuns(database, { run_id: runId })) > 0,
    deleteBy: (deletion) => deleteRuns(database, deletion),
    usage: (query) => usage(database, query),
    sweeps: createSweeps(database),
  };
}
