/**
 * Runs that are over, kept outside Temporal. What is there is read from there: it takes no worker and no replay, and it
 * is there when Temporal has forgotten the run.
 *
 * C1  It is asked first, since it answers at once. It has only what is closed, which never changes.
 * C2  Whoever reads a run that Temporal knows does not depend on it: where it fails or is slow, Temporal and its workers
 *     are asked, and it is left alone for a while. Only where Temporal knows of no such run is its failure told.
 */
import { PerdureError } from '../contract/errors.js';
import type { RunRecord } from './describe-run.js';
import type { ExecutionStatus } from './execution.js';

export interface ClosedRun extends RunRecord {
  /** How the engine ended it. */
  status: ExecutionStatus;
  /** How many events its log has. */
  tail: number;
}

/** What an archive offers: of a run, what it was, and its log exactly as the workflow wrote it. */
export interface ClosedLogs {
  find(runId: string): Promise<ClosedRun | undefined>;
  /** From `from` on, which may count from the end. */
  events(runId: string, from: number): AsyncIterable<{ seq: number; text: string }>;
}

export interface ClosedReader {
  /** Undefined: it has none, or cannot say it now. */
  find(runId: string): Promise<ClosedRun | undefined>;
  /** For a run that nobody else knows: throws where it cannot be said. */
  findOnly(runId: string): Promise<ClosedRun | undefined>;
  events: ClosedLogs['events'];
}

const PATIENCE_MS = 1_000;
const REST_MS = 5_000;

export function createClosedReader(logs: ClosedLogs | undefined): ClosedReader {
  let restUntil = 0;

  async function asked(runId: string, from: ClosedLogs): Promise<ClosedRun | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const what = `the archive did not say within ${PATIENCE_MS / 1_000} s whether it has run ${runId}`;
      timer = setTimeout(() => reject(new PerdureError('database_unreachable', what)), PATIENCE_MS);
    });
    try {
      return await Promise.race([from.find(runId), late]);
    } catch (error) {
      restUntil = Date.now() + REST_MS;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    find: async (runId) =>
      logs === undefined || Date.now() < restUntil ? undefined : asked(runId, logs).catch(() => undefined),
    findOnly: async (runId) => (logs === undefined ? undefined : asked(runId, logs)),
    events: (runId, from) => {
      if (logs === undefined) throw new PerdureError('unknown_run', `run ${runId} is in no archive`);
      return logs.events(runId, from);
    },
  };
}
