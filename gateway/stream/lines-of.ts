/** The events of a stream as text on the wire, up to its last word. */
import type { RunStream } from '../../client/index.js';
import { PerdureError } from '../../contract/errors.js';
import type { EventOf } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { StreamEnd } from '../../contract/stream-lines.js';
import type { Frame } from './frame.js';
import type { StreamRequest } from './read-options.js';
import type { BodySource } from './response-body.js';
import type { Teller } from './teller.js';

export interface LinesOptions {
  runId: string;
  request: StreamRequest;
  stream: RunStream;
  teller: Teller;
  /** What the transport adds to an event before it is told. */
  dress: (event: StreamEvent) => StreamEvent;
  frame: Frame;
  /** The cursor of a flattened stream, before its next event. */
  tree: (() => string) | undefined;
  /** There is nothing to say but this. */
  ended: EventOf<'run_completed'> | undefined;
}

type Ending = StreamEnd extends infer End
  ? End extends StreamEnd
    ? Omit<End, 'perdure' | 'run_id' | 'cursor'>
    : never
  : never;

export function linesOf({ runId, request, stream, teller, dress, frame, tree, ended }: LinesOptions): BodySource {
  const lastWord = (ending: Ending, cursor = teller.position()) =>
    frame.aside({ perdure: 'end', ...ending, run_id: runId, cursor } as StreamEnd);

  return {
    async next() {
      if (ended !== undefined) return { text: lastWord({ reason: 'completed', status: ended.status }), done: true };
      const before = tree?.() ?? '';
      const { done, value: event } = await stream.next();
      if (done === true) {
        if (!request.follow) return { text: lastWord({ reason: 'tail' }), done: true };
        const what = `the stream of run ${runId} was cut here, and the run goes on`;
        throw new PerdureError('server_unreachable', what);
      }
      const { lines, warnings, again } = teller.tell(dress(event), before);
      const ending = event.run_id === runId ? endingOf(event) : undefined;
      const text = [...lines.map(frame.line), ...warnings.map(frame.aside)].join('');
      return ending === undefined ? { text, done: false } : { text: text + lastWord(ending, again()), done: true };
    },
  };
}

function endingOf(event: StreamEvent): Ending | undefined {
  if (event.type === 'run_completed') return { reason: 'completed', status: event.status };
  if (event.type === 'stream_ended') return { reason: event.reason, message: event.message };
  return undefined;
}
