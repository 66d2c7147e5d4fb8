/** An answer to a pause: what it can be, and how it is sent. */
import type { ClientToolResult } from '../contract/awaits.js';
import type { Pause } from './open-pauses.js';
import type { RunCommands } from './run-commands.js';

/** What was asked to be done, before it is known to which pause. */
export type Wish =
  | { kind: 'clarification'; text: string }
  | {
      kind: 'approval';
      decision: 'approve' | 'deny';
      note?: string;
      /** As much of it as was typed. */ digest?: string;
    }
  | { kind: 'external_tools'; results: ClientToolResult[] };

export async function submit(runs: RunCommands, pause: Pause, wish: Wish, answered_by: string): Promise<void> {
  const { run_id, await_id, digest = '' } = pause;
  switch (wish.kind) {
    case 'clarification':
      return runs.answerClarification(run_id, { await_id, answer: wish.text, answered_by });
    case 'approval': {
      const note = wish.note === undefined ? {} : { note: wish.note };
      // Of the snapshot that was shown: should the call be another one by now, the run refuses.
      return runs.decideApproval(run_id, { await_id, decision: wish.decision, digest, ...note, answered_by });
    }
    case 'external_tools':
      return runs.submitToolResults(run_id, { await_id, results: wish.results, answered_by });
  }
}
