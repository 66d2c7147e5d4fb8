/**
 * A vendor that cannot be reached, or takes no more requests just now, is asked again for a while, within the attempt:
 * nothing was said yet, so nobody has anything to forget. Whoever can ask another profile instead, or has been told to
 * finish, does not wait.
 *
 * O1  All attempts at a call wait no longer together than the runtime's patience: since when is in the heartbeat, so
 *     that a worker which takes over goes on waiting, and does not begin again.
 * O2  The wait takes at most half of an attempt's time: the rest is for the answer.
 * O3  An abort ends the wait at once.
 */
import type { Context } from '@temporalio/activity';
import type { AgentSpec } from '../contract/agent-spec.js';
import { isPerdureError } from '../contract/errors.js';
import type { Heartbeat } from './heartbeat.js';

/** Of runs that were pinned before it could be set. */
const DEFAULT_PATIENCE_MS = 120_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export interface Outage {
  /** Asks until there is an answer, or the patience is at its end; returns when the signal aborts. */
  outlast(signal: AbortSignal, ask: () => Promise<void>): Promise<void>;
}

export function openOutage(
  context: Context,
  heartbeat: Pick<Heartbeat, 'note'>,
  { runtime }: Pick<AgentSpec, 'runtime'>,
  isPatient: boolean,
): Outage {
  const { model_retry_ms = DEFAULT_PATIENCE_MS, model_timeout_ms } = runtime;
  const latest = Date.now() + model_timeout_ms / 2;
  let since = (context.info.heartbeatDetails as { outage_since?: number } | undefined)?.outage_since;
  let pauses = 0;

  function note(began: number | undefined): void {
    if (since !== began) heartbeat.note({ outage_since: began });
    since = began;
    if (began === undefined) pauses = 0;
  }

  /** How long to wait before the vendor is asked again; undefined: not at all. */
  function pauseAfter(error: unknown): number | undefined {
    if (!isPerdureError(error) || error.not_taken !== true) {
      note(undefined);
      return undefined;
    }
    if (!isPatient) return undefined;
    const began = since ?? Date.now();
    note(began);
    const growing = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses);
    // Not all at the same moment, when there are many.
    const pause = error.retry_after_ms ?? growing * (0.75 + Math.random() / 2);
    return Date.now() + pause > Math.min(latest, began + model_retry_ms) ? undefined : pause;
  }

  return {
    async outlast(signal, ask) {
      while (!signal.aborted) {
        try {
          await ask();
          return note(undefined);
        } catch (error) {
          const pause = pauseAfter(error);
          if (pause === undefined) throw error;
          pauses += 1;
          await pauseFor(pause, signal);
        }
      }
    },
  };
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}
