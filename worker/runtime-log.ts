/** The SDK's log, which is one per process: what it warns of is a run's business and in the run's own log. */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { LogLevel } from '@temporalio/worker';

export function installRuntimeLog(report: (line: string) => void, level: LogLevel = 'ERROR'): void {
  Runtime.install({
    logger: new DefaultLogger(level, ({ level: severity, message, meta }) => {
      const { workflowId, activityType, error } = (meta ?? {}) as {
        workflowId?: string;
        activityType?: string;
        error?: unknown;
      };
      const where = [activityType, workflowId].filter((part) => part !== undefined).join(' of ');
      const why = error instanceof Error ? `: ${error.message}` : '';
      report(`${severity.toLowerCase()}: ${message}${where === '' ? '' : ` (${where})`}${why}`);
    }),
    // Workers are stopped by whoever started them, in their order.
    shutdownSignals: [],
  });
}
