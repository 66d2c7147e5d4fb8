/** The search for ended runs that are missing in the archive, as the schedule's workflow asks for it. */
import { ApplicationFailure } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import type { SweepResult } from '../contract/activities.js';

/** Undefined where another one is at it. */
export type Sweep = (options?: {
  signal?: AbortSignal;
  /** Still at it. */
  onProgress?: (done: SweepResult) => void;
}) => Promise<SweepResult | undefined>;

export async function sweepArchive(sweep: Sweep | undefined, context: Context): Promise<SweepResult | null> {
  if (sweep === undefined) {
    const why = 'this worker was started without a database: the sweep is for one that has it';
    throw ApplicationFailure.retryable(why, 'no_database');
  }
  const signal = context.cancellationSignal;
  return (await sweep({ signal, onProgress: (done) => context.heartbeat(done) })) ?? null;
}
