/**
 * The sessions of a worker with one server: one for all runs, or, where the credentials depend on for whom a run works,
 * one for each set of them.
 *
 * S1  Runs share a session only if they were given the same credentials.
 * S2  There are only so many. One that nobody uses is closed after a while, or when there is no room for another.
 */
import { createHash } from 'node:crypto';
import type { Caller } from '../../contract/principal.js';
import { ToolError } from '../../kit/tool-error.js';

/** Headers or an environment: the same for all, or a function of for whom the run works. */
export type Credentials =
  | Readonly<Record<string, string>>
  | ((caller: Caller) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

export interface SessionsOptions<Session> {
  title: string;
  credentials: Credentials;
  open(credentials: Readonly<Record<string, string>>): Session;
  most: number;
  idleMs: number;
}

export interface Sessions<Session> {
  /** Throws what the function of the credentials throws, before anything is opened. */
  use<T>(caller: Caller, work: (session: Session) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Kept<Session> {
  session: Session;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

export function createSessions<Session extends { close(): Promise<void> }>(
  options: SessionsOptions<Session>,
): Sessions<Session> {
  const { title, credentials, open, most, idleMs } = options;
  // The longest unused first.
  const kept = new Map<string, Kept<Session>>();
  const closing = new Set<Promise<void>>();
  const isShared = typeof credentials !== 'function';

  function end(key: string, { session, timer }: Kept<Session>): void {
    clearTimeout(timer);
    kept.delete(key);
    const closed = session.close().finally(() => closing.delete(closed));
    closing.add(closed);
  }

  function take(key: string, given: Readonly<Record<string, string>>): Kept<Session> {
    const known = kept.get(key);
    if (known === undefined && kept.size >= most) {
      const unused = [...kept].find(([, { users }]) => users === 0);
      if (unused === undefined)
        throw new ToolError(
          'rate_limited',
          `${title} has ${most} sessions in use, and cannot have more at the same time.`,
        );
      end(...unused);
    }
    const taken = known ?? { session: open(given), users: 0, timer: undefined };
    clearTimeout(taken.timer);
    kept.delete(key);
    kept.set(key, taken);
    taken.users += 1;
    return taken;
  }

  function release(key: string, taken: Kept<Session>): void {
    taken.users -= 1;
    if (taken.users > 0 || isShared || kept.get(key) !== taken) return;
    taken.timer = setTimeout(() => end(key, taken), idleMs);
    taken.timer.unref();
  }

  return {
    async use(caller, work) {
      const given = typeof credentials === 'function' ? checked(await credentials(caller), title) : credentials;
      const key = keyOf(given);
      const taken = take(key, given);
      try {
        return await work(taken.session);
      } finally {
        release(key, taken);
      }
    },
    async close() {
      for (const [key, each] of kept) end(key, each);
      await Promise.all(closing);
    },
  };
}

function checked(given: unknown, title: string): Readonly<Record<string, string>> {
  const isRecord = typeof given === 'object' && given !== null && !Array.isArray(given);
  if (isRecord && Object.values(given).every((value) => typeof value === 'string'))
    return given as Record<string, string>;
  throw new TypeError(`${title}: its function of headers or env must give an object of texts`);
}

/** Not the credentials themselves. */
function keyOf(given: Readonly<Record<string, string>>): string {
  const entries = Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}
