/** A run and all below it, as they stand now. */
import { isPerdureError } from '../contract/errors.js';
import type { StreamMarker } from '../contract/live-events.js';
import type { RunSnapshot } from '../contract/snapshot.js';

export interface RunNode {
  run_id: string;
  agent_id: string;
  /** Of the parent: the call that started it. */
  tool_call_id?: string;
  /** Undefined while it has no log that could be read. */
  snapshot?: RunSnapshot & { engine_end?: StreamMarker };
  children: RunNode[];
}

export async function readTree(
  get: (runId: string) => Promise<NonNullable<RunNode['snapshot']>>,
  runId: string,
): Promise<RunNode> {
  const snapshot = await get(runId);
  const children = snapshot.children.map(async ({ run_id, agent_id, tool_call_id }) => {
    try {
      return { ...(await readTree(get, run_id)), tool_call_id };
    } catch (error) {
      if (isPerdureError(error) && error.code === 'unknown_run')
        return { run_id, agent_id, tool_call_id, children: [] };
      throw error;
    }
  });
  return { run_id: runId, agent_id: snapshot.run.agent_id, snapshot, children: await Promise.all(children) };
}
