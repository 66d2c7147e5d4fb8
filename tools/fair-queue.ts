/**
 * Who works next, where there is room for a few at a time: one group (an org) after another, so that whoever asks for
 * much waits for itself and not the others for it.
 *
 * Q1  No more than `at_once` work at the same time, and no more than `per_group` of one group.
 * Q2  While a group waits that may work, no other group gets more than one turn.
 * Q3  Whoever stops waiting, or waited too long, leaves the queue and takes no room.
 */
import { ToolError } from '../kit/tool-error.js';

export interface FairQueueOptions {
  /** What is waited for, in the plural: "programs". */
  what: string;
  at_once: number;
  per_group: number;
  /** So many of one group may wait; the next one is refused. */
  most_waiting: number;
  /** Nobody waits longer. */
  wait_ms: number;
}

export interface Ticket {
  group: string;
  signal: AbortSignal;
}

export interface FairQueue {
  /** Throws a ToolError of the kind `rate_limited` where there is no room in time. */
  run<T>(ticket: Ticket, work: () => Promise<T>): Promise<T>;
}

interface Group {
  working: number;
  waiting: Set<() => void>;
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { at_once, per_group, most_waiting, wait_ms } = options;
  /** In the order of their turns. */
  const groups = new Map<string, Group>();
  let working = 0;
  /** When those that work began, and about how long work has taken. */
  const begun = new Set<{ at: number }>();
  let lasts = 0;

  function next(): void {
    for (const [name, group] of groups) {
      if (working >= at_once) return;
      const [begin] = group.waiting;
      if (begin === undefined || group.working >= per_group) continue;
      groups.delete(name);
      groups.set(name, group);
      group.waiting.delete(begin);
      group.working += 1;
      working += 1;
      begin();
      return next();
    }
  }

  function leave(name: string, group: Group): void {
    if (group.working === 0 && group.waiting.size === 0) groups.delete(name);
    next();
  }

  /** About how long the next one of a group would wait. */
  function expectedSeconds(group: Group): number {
    const longest = Math.max(lasts, ...[...begun].map(({ at }) => Date.now() - at));
    return Math.max(1, Math.ceil(((group.waiting.size + 1) * longest) / per_group / 1000));
  }

  function refusal(group: Group, why: string): ToolError {
    const message = `The worker is busy with other ${options.what}: ${why}. There may be room in about ${expectedSeconds(group)} s.`;
    // The queue was the wait: another attempt at once would only stand in it again.
    return new ToolError('rate_limited', message, { retryable: false });
  }

  function enter({ group: name, signal }: Ticket, group: Group): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        group.waiting.delete(begin);
        how();
      };
      const begin = () => settle(resolve);
      const giveUp = (reason: unknown) => {
        settle(() => reject(reason as Error));
        leave(name, group);
      };
      const onAbort = () => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(refusal(group, `there was no room for ${wait_ms / 1000} s`)), wait_ms);
      signal.addEventListener('abort', onAbort, { once: true });
      group.waiting.add(begin);
      next();
    });
  }

  return {
    async run(ticket, work) {
      ticket.signal.throwIfAborted();
      const group = groups.get(ticket.group) ?? { working: 0, waiting: new Set() };
      const isRoom = working < at_once && group.working < per_group;
      if (!isRoom && group.waiting.size >= most_waiting) throw refusal(group, `${group.waiting.size} wait already`);
      groups.set(ticket.group, group);
      await enter(ticket, group);
      const began = { at: Date.now() };
      begun.add(began);
      try {
        // Aborted between its turn and now.
        ticket.signal.throwIfAborted();
        return await work();
      } finally {
        begun.delete(began);
        const took = Date.now() - began.at;
        lasts = lasts === 0 ? took : lasts * 0.8 + took * 0.2;
        group.working -= 1;
        working -= 1;
        leave(ticket.group, group);
      }
    },
  };
}
