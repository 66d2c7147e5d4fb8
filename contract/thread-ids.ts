/**
 * How the parts of a thread are called. No zod here.
 *
 * A turn's run is the thread's id, `/turn_` and the number of the turn. A tool use must be unique in the whole thread and
 * fit every vendor, so its id is the path from the thread to the call with `_` for `/`: `turn_2_call_1_1`, and
 * `turn_2_call_1_1_call_3_1` for a call of an agent that was itself used as a tool.
 */

const TOOL_USE_PATTERN = /^(turn_\d+)((?:_call_\d+_\d+)*)_(call_\d+_\d+)$/;

export function turnRunId(threadId: string, turn: number): string {
  return `${threadId}/turn_${turn}`;
}

export function toolUseId(threadId: string, runId: string, toolCallId: string): string {
  const path = runId.startsWith(`${threadId}/`) ? runId.slice(threadId.length + 1) : runId;
  return `${path.replaceAll('/', '_')}_${toolCallId}`;
}

/** Undefined for an id that no tool use of a thread can have. */
export function toolUseOf(threadId: string, id: string): { run_id: string; tool_call_id: string } | undefined {
  const match = TOOL_USE_PATTERN.exec(id);
  if (match === null) return undefined;
  const [, turn = '', above = '', tool_call_id = ''] = match;
  return { run_id: `${threadId}/${turn}${above.replaceAll('_call_', '/call_')}`, tool_call_id };
}
