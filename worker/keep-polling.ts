/**
 * Keeps a worker polling: one that the SDK has damaged (`lost-activation.ts`) is replaced by a new one.
 *
 * K1  Whatever a damaged worker ends with is its own affair: the process, and its new worker, go on. It waits for an
 *     activation that nobody has, until the SDK gives it up, and then cannot dispose of the workflow that it is for.
 * K2  Any other worker that ends with an error ends the polling with it.
 */
import type { NativeConnection, Worker } from '@temporalio/worker';
import { onLostActivation } from './lost-activation.js';

export interface PollingWorker {
  worker: Worker;
  /** Its own. */
  connection: NativeConnection;
}

export interface Polling {
  /** Resolves when the last worker has stopped; rejects where one stopped by itself, with the reason. */
  stopped: Promise<void>;
  /** Lets running work finish for a while. */
  stop(): Promise<void>;
}

export async function keepPolling(
  create: () => Promise<PollingWorker>,
  report: (line: string) => void,
): Promise<Polling> {
  let end: () => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  /** All that have not stopped. What was replaced lets its work finish. */
  const running = new Map<PollingWorker, { isDamaged: boolean }>();
  let isStopping = false;
  let replacing: Promise<void> | undefined;

  function start(polling: PollingWorker): void {
    const state = { isDamaged: false };
    running.set(polling, state);
    void run(polling, state);
  }

  async function run(polling: PollingWorker, state: { isDamaged: boolean }): Promise<void> {
    try {
      await polling.worker.run();
    } catch (error) {
      if (state.isDamaged) await leaveBehind(polling, error);
      else fail(error);
    }
    running.delete(polling);
    await polling.connection.close().catch(() => {});
    if (running.size === 0 && replacing === undefined) end();
  }

  async function leaveBehind({ worker }: PollingWorker, error: unknown): Promise<void> {
    const why = error instanceof Error ? error.message : String(error);
    report(`the worker that was replaced has ended: ${why}`);
    await endThreads(worker).catch((left: unknown) => report(`its threads are left behind: ${String(left)}`));
  }

  async function replace(): Promise<void> {
    report('error: the SDK has lost a workflow activation (docs/queries.md): this worker is replaced by a new one');
    const damaged = [...running];
    start(await create());
    for (const [{ worker }, state] of damaged) {
      state.isDamaged = true;
      if (worker.getState() === 'RUNNING') worker.shutdown();
    }
  }

  const forget = onLostActivation(() => {
    if (isStopping || replacing !== undefined) return;
    replacing = replace()
      .catch(fail)
      .finally(() => (replacing = undefined));
  });

  start(await create());
  return {
    stopped: ended.finally(forget),
    async stop() {
      isStopping = true;
      await replacing;
      for (const { worker } of running.keys()) if (worker.getState() === 'RUNNING') worker.shutdown();
      if (running.size === 0) end();
      await ended;
    },
  };
}

/** What the SDK (1.24) has inside. It ends its threads only where all of their workflows could be disposed of. */
interface Inside {
  workflowCreator?: { workerThreadClients?: { workerThread?: { terminate(): Promise<number> } }[] };
}

async function endThreads(worker: Worker): Promise<void> {
  const { workerThreadClients = [] } = (worker as unknown as Inside).workflowCreator ?? {};
  await Promise.all(workerThreadClients.map(async ({ workerThread }) => workerThread?.terminate()));
}
