/** A feed's ear on the live channel: it lets through only what is of this run, and says when it has heard what was said before. */
import type { LiveEvent } from '../contract/live-events.js';
import type { CommittedEvent, LiveChannel, Origin } from '../live/channel.js';
import { createOwnWord } from './own-word.js';
import type { OwnWord } from './own-word.js';

export type Brought = { live: readonly LiveEvent[] } | { committed: readonly CommittedEvent[] };

interface ListenOptions {
  channel: LiveChannel | undefined;
  runId: string;
  take: (brought: Brought, origin: Origin | undefined) => void;
  /** The server has to be asked of the run: now, or soon. */
  onUnknown: () => void;
  onAway: () => void;
}

export interface Ear extends Pick<OwnWord<Brought>, 'held' | 'know'> {
  /** What the channel has of before has come, or it takes too long. */
  caughtUp: Promise<void>;
  leave(): void;
}

/** So long the channel may take to tell what it has of before. */
const CATCHING_UP_MS = 500;
/** When the channel goes away, the feeds of a process do not all look at once. */
const AWAY_SPREAD_MS = 500;

export function listen({ channel, runId, take, onUnknown, onAway }: ListenOptions): Ear {
  const { hear, held, know } = createOwnWord<Brought>(take, onUnknown);
  let leave = () => {};
  const caughtUp = new Promise<void>((resolve) => {
    if (channel?.isUp() === true) setTimeout(resolve, CATCHING_UP_MS).unref();
    else resolve();
    leave =
      channel?.subscribe(runId, {
        live: (events, origin) => hear({ live: events }, origin),
        committed: (events, origin) => hear({ committed: events }, origin),
        caughtUp: resolve,
        away: () => void setTimeout(onAway, Math.random() * AWAY_SPREAD_MS).unref(),
      }) ?? leave;
  });
  return { held, know, caughtUp, leave: () => leave() };
}
