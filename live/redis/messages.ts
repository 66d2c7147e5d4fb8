/** A message on a run's channel, as text. An entry of its stream is the same text, which may leave out what is large. */
import type { DurableEvent } from '../../contract/events.js';
import type { LiveEvent } from '../../contract/live-events.js';
import type { CommittedEvent, Origin } from '../channel.js';

export type Message =
  | { kind: 'live'; origin: Origin; events: readonly LiveEvent[] }
  /** `last`: the last of the events that belong together, whether it is among these or not. */
  | { kind: 'committed'; origin: Origin; events: readonly CommittedEvent[]; last: number };

interface Wire {
  /** The execution. */
  x: string;
  l?: readonly LiveEvent[];
  c?: readonly (readonly [seq: number, text: string])[];
  /** The workflow task, and the `seq` of the last event that it appended. */
  t?: number | undefined;
  n?: number;
}

export function writeMessage(message: Message): string {
  const x = message.origin.execution;
  const wire: Wire =
    message.kind === 'live'
      ? { x, l: message.events }
      : {
          x,
          c: message.events.map(({ seq, text }) => [seq, text] as const),
          t: message.origin.task,
          n: message.last,
        };
  return JSON.stringify(wire);
}

/** Undefined for what is no message of ours. */
export function readMessage(text: string): Message | undefined {
  try {
    const { x, l, c, t, n } = JSON.parse(text) as Wire;
    if (typeof x !== 'string') return undefined;
    if (l !== undefined) return { kind: 'live', origin: { execution: x }, events: l };
    if (c === undefined || n === undefined) return undefined;
    const events = c.map(([seq, written]) => ({ seq, text: written, event: JSON.parse(written) as DurableEvent }));
    // Only who has them all knows where the task has led to.
    const isWhole = events.at(-1)?.seq === n && t !== undefined;
    return { kind: 'committed', origin: { execution: x, ...(isWhole ? { task: t } : {}) }, events, last: n };
  } catch {
    return undefined;
  }
}
