/** Reading what a tree of runs has written. */
import type { DurableEvent } from '../../contract/events.js';
import { ofType } from './world.js';

/** Of each result in the order of their calls: the content where it went well, else the kind of the failure. */
export function results(log: readonly DurableEvent[]): unknown[] {
  return ofType(log, 'tool_result')
    .sort((a, b) => order(a.tool_call_id).localeCompare(order(b.tool_call_id), undefined, { numeric: true }))
    .map((event) => (event.status === 'success' ? event.content : event.failure.kind));
}

function order(callId = ''): string {
  return callId.replace('call_', '');
}

/** The logs of a run and of all below it, by run id. */
export async function treeLogs(
  logOf: (runId: string) => Promise<DurableEvent[]>,
  rootId: string,
): Promise<Map<string, DurableEvent[]>> {
  const logs = new Map([[rootId, await logOf(rootId)]]);
  for (const [, log] of logs) {
    for (const { link } of ofType(log, 'agent_run_started')) logs.set(link.run_id, await logOf(link.run_id));
  }
  return logs;
}
