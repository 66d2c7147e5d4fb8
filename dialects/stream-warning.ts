/** What a transport says of ends and gaps in dialects that have no words for them. */
import type { StreamEvent } from '../contract/live-events.js';
import { badEnd } from './tool-words.js';

export const VOID_TEXT = 'a model call was given up: the text that it had shown, before the blank line, is void';

export function streamWarnings(event: StreamEvent): string[] {
  if (event.type === 'stream_ended' || event.type === 'stream_failed') return [event.message];
  if (event.type === 'live_dropped') {
    return [`run ${event.run_id}: ${event.dropped} live events were left out for this slow reader`];
  }
  if (event.type !== 'run_completed') return [];
  const wrong = badEnd(event);
  return wrong === undefined ? [] : [`run ${event.run_id} ended as ${event.status}: ${wrong}`];
}
