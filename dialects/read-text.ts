/**
 * The text of a run, piece by piece, as it is said: what a program prints. Nothing can be taken back on paper, so where
 * a model call is made again and goes another way, a blank line is followed by the new text from its beginning.
 */
import type { StreamEvent } from '../contract/live-events.js';
import { followText } from './follow-text.js';
import { nothingShown } from './shown-text.js';

/** Of one run; what its children say is theirs. */
export async function* readText(events: AsyncIterable<StreamEvent>, runId: string): AsyncGenerator<string, undefined> {
  let shown = nothingShown(false);
  for await (const event of events) {
    if (event.run_id !== runId) continue;
    const followed = followText(shown, event);
    shown = followed.shown;
    for (const { of, voided, again, text, from } of followed.news) {
      const piece = `${voided ? `\n\n${again}` : ''}${text.slice(from)}`;
      if (of === 'text' && piece !== '') yield piece;
    }
  }
  return undefined;
}
