/**
 * How the parts of a thread are called. No zod here.
 *
 * A turn's run is the thread's id, `/turn_` and the number of the turn. A tool use must be unique in the whole thread and
 * fit every vendor, so its id is the path from the thread to the call with `_` for `/`: `turn_2_call_1_1`, and
 * `turn_2_call_1_1_call_3_1` for a call of an agent that was itself used as a tool.
 */

/** Of the agent's id: that of a thread has 200 characters at most. */
const AGENT_CHARS = 120;

/** Lists of workflows show the id first, so it says whose thread it is. Nobody reads it back. */
export function threadIdFor(agentId: string, unique: string): string {
  return `thr_${agentId.slice(0, AGENT_CHARS)}-${unique}`;
}

export function turnRunId(threadId: string, turn: number): string {
  return `${threadId}/turn_${turn}`;
}

/** The thread whose turn a run is, or is below; undefined where it is of no thread. */
export function threadOfRun(runId: string): string | undefined {
  return /^([^/]+)\/turn_\d+(\/|$)/.exec(runId)?.[1];
}

export function toolUseId(threadId: string, runId: string, toolCallId: string): string {
  const path = runId.startsWith(`${threadId}/`) ? runId.slice(threadId.length + 1) : runId;
  return `${path.replaceAll('/', '_')}_${toolCallId}`;
}
