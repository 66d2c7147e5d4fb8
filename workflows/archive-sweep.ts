/** Started by a schedule: finds the runs that have ended and are not in the archive. All of it is one activity. */
import { proxyActivities } from '@temporalio/workflow';
import type { ArchiveActivities, SweepResult } from '../contract/activities.js';

export async function archiveSweep(): Promise<SweepResult | null> {
  const { sweepArchive } = proxyActivities<ArchiveActivities>({
    // The first one takes in all that there is.
    startToCloseTimeout: '6 hours',
    heartbeatTimeout: '1 minute',
    // The schedule starts the next one, so this one may give up while the database is away.
    retry: { maximumAttempts: 3 },
    summary: 'copy ended runs into the archive',
  });
  return sweepArchive();
}
