/** The live channel: what carries live events, and committed ones beside them, from workers to feeds. */
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';

/** A committed event with its text, exactly as the workflow wrote it. */
export interface CommittedEvent {
  seq: number;
  text: string;
  event: DurableEvent;
}

export interface ChannelListener {
  live(events: readonly LiveEvent[]): void;
  committed(events: readonly CommittedEvent[]): void;
}

export interface LiveChannel {
  publishLive(runId: string, events: readonly LiveEvent[]): void;
  publishCommitted(runId: string, events: readonly CommittedEvent[]): void;
  /** Someone listens: only then is it worth reading committed events for it. */
  watched(runId: string): boolean;
  /** The listener is first given the text so far of each open block. */
  subscribe(runId: string, listener: ChannelListener): () => void;
}
