/** What a transport says of pauses in dialects that have no words for them: whose they are, and the id of an answer. */
import type { StreamEvent } from '../contract/live-events.js';

const FOR = { clarification: 'an answer', external_tools: 'results of the caller’s tools', approval: 'an approval' };

export function pauseWarnings(event: StreamEvent): string[] {
  switch (event.type) {
    case 'await_clarification':
      return [waits(event.run_id, 'clarification', event.await_id)];
    case 'await_external_tools':
      return [waits(event.run_id, 'external_tools', event.await_id)];
    case 'await_approval':
      return [waits(event.run_id, 'approval', event.await_id)];
    case 'child_await_changed':
      return event.state === 'open' ? [waits(event.link.run_id, event.kind, event.await_id)] : [];
    default:
      return [];
  }
}

function waits(runId: string, kind: keyof typeof FOR, awaitId: string): string {
  return `run ${runId} waits for ${FOR[kind]}: answer the pause ${awaitId}`;
}
