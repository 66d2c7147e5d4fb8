/**
 * The live channel: what carries live events, and committed ones beside them, from workers to feeds, and the news of a
 * cancel from whoever asked for it to the calls that run.
 */
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';
import type { Presence, SilentPeer } from './presence.js';

/** A committed event with its text, exactly as the workflow wrote it. */
export interface CommittedEvent {
  seq: number;
  text: string;
  event: DurableEvent;
}

/** Whose word it is: what another server, or an earlier one, said of a run of the same name is not this run's. */
export interface Origin {
  /** The engine's id of the execution. */
  execution: string;
  /** With committed events that are all that this workflow task appended: the number of the event with which it began. */
  task?: number;
}

export interface ChannelListener {
  live(events: readonly LiveEvent[], origin?: Origin): void;
  committed(events: readonly CommittedEvent[], origin?: Origin): void;
  /** What the channel has of before has been told. */
  caughtUp?(): void;
  /** The channel brings nothing for now. */
  away?(): void;
}

export interface LiveChannel {
  publishLive(runId: string, events: readonly LiveEvent[], origin?: Origin): void;
  publishCommitted(runId: string, events: readonly CommittedEvent[], origin?: Origin): void;
  /** Someone listens, as far as is known: only then is it worth finding out what is committed. */
  watched(runId: string): boolean;
  /** The listener is first given the text so far of each open block. */
  subscribe(runId: string, listener: ChannelListener): () => void;
  /** Someone is about to listen: what is said of the run until then is kept for it. */
  expect(runId: string): void;
  /** What is published now is brought. While it is not, readers poll. */
  isUp(): boolean;
  /** The server has taken a cancel of this run, or of the turn of this thread: whatever runs below it should ask. */
  publishCancel(id: string): void;
  onCancel(listener: (id: string) => void): () => void;
  /** Cancels come on it, whoever asked for them. While they do not, heartbeats have to bring them. */
  hearsCancels(): boolean;
  /** Where workers see each other: shows this one, and tells it, once each, of those that have fallen silent. */
  showWorker?(worker: string, onSilent: (peer: SilentPeer) => void): Presence;
  close(): Promise<void>;
}
