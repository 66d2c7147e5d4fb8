/**
 * A worker's sign of life in Redis, and what its peers see of it.
 *
 * S1  All times are those of Redis: the clocks of the workers do not matter.
 * S2  A peer counts as silent only to a worker that has seen it alive since its own signs have come without a break: a
 *     Redis that was away, or was emptied, makes nobody look dead.
 * S3  One that is silent while its connection is there is busy or paused, and not dead: when a process dies, however it
 *     does, its machine closes what it had open. A machine that is lost closes nothing, and heartbeats have to tell.
 * S4  A call is shown only if it is not over in a moment, so that short calls cost nothing.
 */
import type { OpenCall, Presence, SilentPeer } from '../presence.js';
import type { RedisLink } from './link.js';
import type { RedisNames } from './names.js';

interface PresenceOptions {
  link: RedisLink;
  names: RedisNames;
  worker: string;
  /** Told once, until it is heard of again. */
  onSilent: (peer: SilentPeer) => void;
}

/** With that of `worker/give-up-lost-calls.ts` they add up to the time in which a dead worker is found: 3 s at most. */
export const SIGN_MS = 300;
export const SILENT_MS = 1_200;
/** Without an answer for so long, the worker cannot count on being seen. */
const SEEN_MS = 800;
/** Between two signs of a worker that has seen all. */
const BREAK_MS = 1_200;
const SHOWN_AFTER_MS = 50;
const KEPT_MS = 60_000;
const LOCK_MS = 3_000;

export function createPresence({ link, names, worker, onSilent }: PresenceOptions): Presence {
  const open = new Map<string, OpenCall>();
  const shown = new Set<string>();
  const { commands } = link;
  /** Those that are silent and have no connection, by their last sign. */
  const silent = new Map<string, number>();
  let unbrokenSince = Number.POSITIVE_INFINITY;
  let seenAt = 0;
  let isAsking = false;
  let stopped = false;
  let showing: NodeJS.Timeout | undefined;
  let isListening = false;
  const timer = setInterval(() => void sign(), SIGN_MS).unref();
  link.onAway(() => (isListening = false));
  link.onUp(() => void begin());

  async function begin(): Promise<void> {
    try {
      await link.listen(names.worker(worker));
      isListening = link.isUp();
      await sign();
    } catch (error) {
      link.refused(error);
    }
  }

  async function sign(): Promise<void> {
    if (isAsking || stopped || !isListening) return;
    isAsking = true;
    try {
      const answer = await commands.perdureAlive(names.alive, names.calls(worker), worker, SILENT_MS, KEPT_MS);
      seenAt = Date.now();
      await take(...answer);
    } catch (error) {
      link.refused(error);
    } finally {
      isAsking = false;
    }
  }

  async function take(now: number, before: string | null, found: readonly string[]): Promise<void> {
    if (before === null || now - Number(before) > BREAK_MS) unbrokenSince = now;
    // It was emptied, or this worker was taken for dead.
    if (before === null) {
      shown.clear();
      show();
    }
    const told = new Map(silent);
    silent.clear();
    for (let n = 0; n < found.length; n += 2) {
      const [peer = '', last] = [found[n], Number(found[n + 1])];
      if (peer === worker || last < unbrokenSince) continue;
      const isNews = told.get(peer) !== last;
      if (isNews && (await isConnected(peer))) continue;
      silent.set(peer, last);
      if (isNews) onSilent(toPeer(peer, last));
    }
  }

  /** S3. */
  async function isConnected(peer: string): Promise<boolean> {
    return Number(await commands.spublish(names.worker(peer), '')) > 0;
  }

  function toPeer(peer: string, last: number): SilentPeer {
    return {
      worker: peer,
      isSilent: async () =>
        last >= unbrokenSince &&
        Number(await commands.zscore(names.alive, peer)) === last &&
        !(await isConnected(peer)),
      async calls() {
        const values = await commands.hvals(names.calls(peer));
        return values.map((text) => JSON.parse(text) as OpenCall);
      },
      take: async () => (await commands.set(names.lock(peer), worker, 'PX', LOCK_MS, 'NX')) === 'OK',
      async leave() {
        await commands.del(names.lock(peer));
      },
      async forget() {
        await Promise.all([commands.zrem(names.alive, peer), commands.del(names.calls(peer))]);
      },
    };
  }

  function show(): void {
    showing ??= setTimeout(() => {
      showing = undefined;
      const begun = [...open].filter(([field]) => !shown.has(field));
      const over = [...shown].filter((field) => !open.has(field));
      if (!link.isUp()) return;
      const calls = names.calls(worker);
      if (begun.length > 0) {
        commands.hset(calls, ...begun.flatMap(([field, call]) => [field, JSON.stringify(call)])).catch(link.refused);
      }
      if (over.length > 0) commands.hdel(calls, ...over).catch(link.refused);
      for (const [field] of begun) shown.add(field);
      for (const field of over) shown.delete(field);
    }, SHOWN_AFTER_MS);
  }

  return {
    began(call) {
      open.set(fieldOf(call), call);
      show();
    },
    ended(call) {
      if (open.get(fieldOf(call)) === call) open.delete(fieldOf(call));
      show();
    },
    isSeen: () => Date.now() - seenAt < SEEN_MS,
    async stop() {
      stopped = true;
      clearInterval(timer);
      clearTimeout(showing);
      if (!link.isUp()) return;
      link.leave(names.worker(worker));
      await Promise.all([commands.zrem(names.alive, worker), commands.del(names.calls(worker))]).catch(() => {});
    },
  };
}

function fieldOf({ runId, activityId }: OpenCall): string {
  return `${runId}/${activityId}`;
}
