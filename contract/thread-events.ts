/** What the stream of a thread gives: the events of its turns, and its end. Types only. */
import type { StreamEvent } from './live-events.js';

/** Nothing more will come of the thread. */
export interface ThreadEnded {
  type: 'thread_ended';
  thread_id: string;
  reason: 'deleted' | 'terminated' | 'timed_out' | 'engine_failed';
  message: string;
}

export type ThreadEvent = StreamEvent | ThreadEnded;
