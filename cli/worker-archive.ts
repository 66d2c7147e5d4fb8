/**
 * The archive of a worker. A worker runs agents whether or not the database is there: where it cannot be reached at the
 * start, one line says so, and it is opened when something is to be written.
 */
import { isPerdureError } from '../contract/errors.js';
import type { Records } from '../store/records.js';
import type { WorkerArchive } from '../worker/create-worker.js';

export interface OpenedArchive {
  archive: WorkerArchive;
  close(): Promise<void>;
}

export async function openWorkerArchive(
  openRecords: () => Promise<Records>,
  report: (line: string) => void,
): Promise<OpenedArchive> {
  let opening: Promise<Records> | undefined;
  const opened = () => {
    opening ??= openRecords().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const close = async () => (await opening?.catch(() => undefined))?.close();
  try {
    return { archive: (await opened()).archive, close };
  } catch (error) {
    if (!isPerdureError(error) || error.code !== 'database_unreachable') throw error;
    report(`archive: ${error.message}. Runs go on, and are archived when it is back.`);
    return { archive: archiveOf(async () => (await opened()).archive), close };
  }
}

function archiveOf(open: () => Promise<WorkerArchive>): WorkerArchive {
  const sweeps = async () => (await open()).sweeps;
  return {
    putRun: async (...given) => (await open()).putRun(...given),
    getSummary: async (...given) => (await open()).getSummary(...given),
    findMissing: async (...given) => (await open()).findMissing(...given),
    async *readEvents(...given) {
      yield* (await open()).readEvents(...given);
    },
    sweeps: {
      hold: async (...given) => (await sweeps()).hold(...given),
      prolong: async (...given) => (await sweeps()).prolong(...given),
      release: async (...given) => (await sweeps()).release(...given),
      putOff: async (...given) => (await sweeps()).putOff(...given),
      due: async (...given) => (await sweeps()).due(...given),
      settle: async (...given) => (await sweeps()).settle(...given),
    },
  };
}
