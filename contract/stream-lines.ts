/**
 * What a stream over HTTP says outside its dialect: whose a line is and where it is, that something is missing, and
 * how it ended. The gateway writes these, clients read them. No zod here: browsers load it.
 */
import type { RunHandle } from './run.js';
import type { StreamMarker } from './live-events.js';

/** A line with what its dialect has no words for. Markers of a stream know only their run. */
export interface StreamEnvelope extends Partial<RunHandle> {
  /** Where to resume after this line. Opaque. */
  cursor: string;
  run_id: string;
  /** Of the durable event that the line is of; absent where it is live. */
  seq?: number;
  data: unknown;
}

export interface StreamWarning {
  perdure: 'warning';
  run_id: string;
  message: string;
}

type EngineEnd = Extract<StreamMarker, { type: 'stream_ended' }>;

/** How a run ended, or how far it was read. */
export type Ending =
  | { reason: 'completed'; status: 'success' | 'failed' | 'canceled' }
  | { reason: EngineEnd['reason']; message: string }
  /** A bounded read (`follow=false`) has given what there was; the run may go on. */
  | { reason: 'tail' };

/** The last word. Whatever ends without one was cut: the run may go on. */
export type StreamEnd = { perdure: 'end'; run_id: string; cursor: string } & Ending;

/** In the stream of a thread, behind the lines of a turn; the next one may begin at any time. */
export type TurnEnd = {
  perdure: 'turn_ended';
  thread_id: string;
  turn: number;
  run_id: string;
  cursor: string;
} & Exclude<Ending, { reason: 'tail' }>;

/** The last word of a thread's stream. */
export type ThreadStreamEnd = { perdure: 'end'; thread_id: string; cursor: string } & (
  { reason: 'deleted' | 'terminated' | 'timed_out' | 'engine_failed'; message: string } | { reason: 'tail' }
);

/** The header with the `seq` of the last event when the stream was opened; -1 where there was none. */
export const TAIL_SEQ_HEADER = 'Perdure-Tail-Seq';
