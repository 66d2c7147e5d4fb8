/** A worker with an archive, a reader that has only the archive's side, and one that has only Temporal's. */
import type { SweepResult } from '../../../contract/activities.js';
import type { ConfigOptions } from '../../../kit/index.js';
import type { Archive } from '../../../store/archive/archive.js';
import { connectClient } from '../../../worker/create-worker.js';
import type { ConnectedClient } from '../../../worker/create-worker.js';
import { closedLogsOf } from '../../../worker/archive/closed-logs.js';
import { createDataDir } from '../../support/data-dir.js';
import { recordsIn } from '../../support/records.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';

/** The server takes its time to delete what has just ended. */
const FORGETTING_MS = 120_000;
/** Longer than the lease of one that was killed. */
const SWEEP_MS = 90_000;

export interface ArchivedWorld {
  world: World;
  archive: Archive;
  /** What the worker said. */
  said: string[];
  /** Reads by asking workers, as if there were no archive. */
  live: ConnectedClient;
  /** Reads what is over from the archive. */
  kept: ConnectedClient;
  /** Until all of them are in the archive. */
  archived(...runIds: string[]): Promise<void>;
  /** Sweeps once nobody else does: the server's schedule may be at it, and one that was killed keeps others away. */
  sweep(): Promise<SweepResult>;
  /** The server does not know them any more, as after its retention. */
  forget(...runIds: string[]): Promise<void>;
  end(): Promise<void>;
}

interface ArchivedWorldOptions {
  /** Of Postgres; else it is a file. */
  url?: string;
  /** The address that the worker has, where it is another one. */
  workerUrl?: string;
  dataDir?: string;
  taskQueue?: string;
}

export async function createArchivedWorld(
  config: ConfigOptions,
  { url, workerUrl = url, dataDir: given, taskQueue }: ArchivedWorldOptions = {},
): Promise<ArchivedWorld> {
  const dataDir = given ?? (await createDataDir('archive'));
  const [records, ofWorker] = [await recordsIn(dataDir, url), await recordsIn(dataDir, workerUrl)];
  const { archive } = records;
  const said: string[] = [];
  const world = await createWorld(config, {
    dataDir,
    archive: ofWorker.archive,
    report: (line) => void said.push(line),
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  const live = await connectClient(world.server);
  const kept = await connectClient(world.server, { archive: closedLogsOf(archive) });
  return {
    world,
    archive,
    said,
    live,
    kept,
    archived: (...runIds) =>
      until(async () => (await archive.findMissing(runIds)).length === 0, `${runIds.length} runs in the archive`),
    async sweep() {
      let result: SweepResult | undefined;
      await until(async () => (result = await world.sweep()) !== undefined, 'a sweep', SWEEP_MS);
      return result as unknown as SweepResult;
    },
    async forget(...runIds) {
      // The worker's own connection ends with it.
      const { temporal } = live;
      const { namespace } = temporal.options;
      for (const workflowId of runIds) {
        await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
      }
      for (const runId of runIds) {
        await until(
          () =>
            temporal.workflow
              .getHandle(runId)
              .describe()
              .then(
                () => false,
                () => true,
              ),
          `${runId} to be forgotten`,
          FORGETTING_MS,
        );
      }
    },
    async end() {
      await live.close();
      await kept.close();
      await world.end();
      await ofWorker.close();
      await records.close();
    },
  };
}
