/** The archive, as a client reads it. */
import type { ClosedLogs, ClosedRun } from '../../client/closed-logs.js';
import type { Archive } from '../../store/archive/archive.js';
import type { RunSummary } from '../../store/archive/archived-run.js';

/** Of runs that were taken in without it, what their own status says. */
const ENGINE_STATUS: Record<RunSummary['status'], string> = {
  success: 'COMPLETED',
  failed: 'FAILED',
  canceled: 'CANCELLED',
  terminated: 'TERMINATED',
  timed_out: 'TIMED_OUT',
  engine_failed: 'FAILED',
};

export function closedLogsOf(archive: Pick<Archive, 'getSummary' | 'readEvents'>): ClosedLogs {
  return {
    async find(runId) {
      const found = await archive.getSummary(runId);
      if (found === undefined) return undefined;
      const { run_id, agent_id, org_id, created_by, request_digest, engine_status, status, tail } = found;
      return {
        run_id,
        agent_id,
        ...(org_id === undefined ? {} : { org_id }),
        ...(created_by === undefined ? {} : { created_by }),
        ...(request_digest === undefined ? {} : { request_digest }),
        status: (engine_status ?? ENGINE_STATUS[status]) as ClosedRun['status'],
        tail,
      };
    },
    events: (runId, from) => archive.readEvents(runId, from),
  };
}
