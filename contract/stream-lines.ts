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

/** The last word. Whatever ends without one was cut: the run may go on. */
export type StreamEnd = { perdure: 'end'; run_id: string; cursor: string } & (
  | { reason: 'completed'; status: 'success' | 'failed' | 'canceled' }
  | { reason: EngineEnd['reason']; message: string }
  /** A bounded read (`follow=false`) has given what there was; the run may go on. */
  | { reason: 'tail' }
);

/** The header with the `seq` of the last event when the stream was opened; -1 where there was none. */
export const TAIL_SEQ_HEADER = 'Perdure-Tail-Seq';
