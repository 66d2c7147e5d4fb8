/** The pauses of a run and of all below it, each as the run that owns it describes it. */
import type { Runs } from '../client/index.js';
import type { OpenAwait } from '../contract/awaits.js';
import { isPerdureError } from '../contract/errors.js';
import type { RunSnapshot } from '../contract/snapshot.js';

export interface Pause extends OpenAwait {
  agent_id: string;
}

type Snapshot = Awaited<ReturnType<Runs['get']>>;

/** A run knows of its descendants' pauses by id alone: what is asked, their own snapshots say. */
export async function readPauses(runs: Pick<Runs, 'get'>, snapshot: Snapshot): Promise<Pause[]> {
  const below = new Set(snapshot.awaits.map((entry) => entry.run_id));
  below.delete(snapshot.run.run_id);
  const owners = await Promise.all([...below].map((runId) => lookAt(runs, runId)));
  return [snapshot, ...owners.filter((owner) => owner !== undefined)].flatMap(ownPauses);
}

export function ownPauses({ run, status, engine_end, awaits }: Snapshot): Pause[] {
  // What a run that is over was waiting for, nobody can answer.
  if (status !== 'running' || engine_end !== undefined) return [];
  return awaits
    .filter((entry) => entry.run_id === run.run_id)
    .map((entry) => Object.assign({ agent_id: run.agent_id }, entry));
}

/** A run's id begins with those of its ancestors. */
export function isWithin(runId: string, ancestor: string): boolean {
  return runId === ancestor || runId.startsWith(`${ancestor}/`);
}

async function lookAt(runs: Pick<Runs, 'get'>, runId: string): Promise<RunSnapshot | undefined> {
  try {
    return await runs.get(runId);
  } catch (error) {
    if (isPerdureError(error) && error.code === 'unknown_run') return undefined;
    throw error;
  }
}
