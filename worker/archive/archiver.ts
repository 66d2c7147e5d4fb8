/** What a worker does for the archive: it copies the runs that end here, and serves the search for those that were missed. */
import type { Client } from '@temporalio/client';
import type { Sweep } from '../../activities/sweep-archive.js';
import type { Archive } from '../../store/archive/archive.js';
import type { HeardLogs } from '../heard-logs.js';
import { archiveRun } from './archive-run.js';
import { createArchiveQueue } from './archive-queue.js';
import { sweepArchive } from './sweep.js';
import { keepSweeping } from './sweep-schedule.js';

/** What of the archive a worker needs. */
export type WorkerArchive = Pick<Archive, 'putRun' | 'getSummary' | 'findMissing' | 'readEvents' | 'sweeps'>;

export interface Archiver {
  /** A run of this worker has written its last event; its task may not be taken yet. */
  ended(runId: string): void;
  sweep: Sweep;
  /** From here on sweeps are made. */
  begin(): void;
  /** Sweeps end now: the worker is about to stop, and does not wait for them. */
  halt(): void;
  /** After the worker: what has ended is copied for a moment longer, and the rest left to the sweeper. */
  stop(): Promise<void>;
}

interface ArchiverOptions {
  client: Client;
  archive: WorkerArchive;
  taskQueue: string;
  heard: HeardLogs;
  report: (line: string) => void;
}

export function createArchiver({ client, archive, taskQueue, heard, report }: ArchiverOptions): Archiver {
  const stopping = new AbortController();
  const queue = createArchiveQueue({
    // Who stops has no worker any more that would answer.
    archive: (runId) => archiveRun({ client, archive }, runId, heard.read, () => !stopping.signal.aborted),
    onSettled: heard.forgetSoon,
    report,
  });
  const sweep: Sweep = ({ signal, onProgress } = {}) =>
    sweepArchive({
      client,
      archive,
      taskQueue,
      signal: signal === undefined ? stopping.signal : AbortSignal.any([stopping.signal, signal]),
      ...(onProgress === undefined ? {} : { onProgress }),
    });
  let sweeping: ReturnType<typeof keepSweeping> | undefined;

  return {
    ended: (runId) => queue.add(runId),
    sweep,
    begin() {
      sweeping = keepSweeping({ client, taskQueue, sweep: () => sweep(), report });
    },
    halt: () => stopping.abort(),
    async stop() {
      stopping.abort();
      await (await sweeping)?.stop();
      await queue.stop();
    },
  };
}
