/**
 * Sweeps the archive every few minutes: by a schedule on the server, which one of all workers makes and any of them
 * serves. Where the server lets us make none, each worker sweeps by its own clock; the lease keeps that to one at a time.
 */
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { SWEEP_WORKFLOW } from '../../contract/names.js';

export interface Sweeping {
  stop(): Promise<void>;
}

interface SweepingOptions {
  client: Client;
  taskQueue: string;
  sweep: () => Promise<unknown>;
  report: (line: string) => void;
}

const EVERY_MS = 5 * 60_000;
const RPC_DEADLINE_MS = 10_000;

export function sweepScheduleId(taskQueue: string): string {
  return `perdure-archive-${taskQueue}`;
}

export async function keepSweeping(options: SweepingOptions): Promise<Sweeping> {
  const { report } = options;
  try {
    await createSchedule(options);
    return { stop: () => Promise.resolve() };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report(`archive: no schedule can be made on the server (${why}): this worker sweeps by its own clock`);
    return sweepByClock(options);
  }
}

async function createSchedule({ client, taskQueue }: SweepingOptions): Promise<void> {
  const scheduleId = sweepScheduleId(taskQueue);
  try {
    await client.withDeadline(Date.now() + RPC_DEADLINE_MS, () =>
      client.schedule.create({
        scheduleId,
        spec: { intervals: [{ every: EVERY_MS }] },
        action: {
          type: 'startWorkflow',
          workflowType: SWEEP_WORKFLOW,
          workflowId: `${scheduleId}-sweep`,
          taskQueue,
          args: [],
        },
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: EVERY_MS },
      }),
    );
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

function sweepByClock({ sweep, report }: SweepingOptions): Sweeping {
  let sweeping = Promise.resolve();
  const look = () => {
    sweeping = sweeping
      .then(async () => void (await sweep()))
      .catch((error: unknown) =>
        report(`archive: a sweep failed: ${error instanceof Error ? error.message : String(error)}`),
      );
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await sweeping;
    },
  };
}
