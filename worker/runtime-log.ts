/** The SDK's log, which is one per process: what it warns of is a run's business and in the run's own log. */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { LogLevel } from '@temporalio/worker';
import { readCoreLine } from './lost-activation.js';

export interface RuntimeLogOptions {
  level?: LogLevel;
  /** The worker's calls of the server fail, and are repeated. Said again and again while it lasts. */
  onLost?(): void;
}

/** What the native side says of a call that it repeats. */
const REPEATED = /^gRPC call \w+ retried/;

export function installRuntimeLog(report: (line: string) => void, options: RuntimeLogOptions = {}): void {
  const { level = 'ERROR', onLost } = options;
  Runtime.install({
    // Else the native side writes its lines past us, to the console.
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    logger: new DefaultLogger(level === 'ERROR' ? 'WARN' : level, ({ level: severity, message, meta }) => {
      readCoreLine(message);
      if (REPEATED.test(message)) onLost?.();
      if (severity === 'WARN' && level === 'ERROR') return;
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
