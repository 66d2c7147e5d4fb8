/**
 * Messages on their way to a thread.
 *
 * O1  They are sent in the order in which they were put, one after another.
 * O2  One that finds nobody is kept and sent again, until it is taken or refused: none is lost while the chat is open.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Outbox {
  put(text: string): void;
  /** Resolves when nothing is on its way: all was taken or refused, or waits for somebody to take it. */
  idle(): Promise<void>;
  /** Nobody takes them for now. */
  isBlocked(): boolean;
  /** What nobody has taken yet, in order. */
  waiting(): readonly string[];
}

export interface OutboxOptions {
  /** `isFirst`: it was not tried before. */
  send(text: string, isFirst: boolean): Promise<void>;
  /** Nobody is there to take it, which may pass. */
  isPassing(error: unknown): boolean;
  /** Called once while it lasts. */
  kept(error: unknown): Promise<void>;
  refused(error: unknown, text: string): Promise<void>;
  signal: AbortSignal;
}

const AGAIN_MS = 1_000;

export function createOutbox({ send, isPassing, kept, refused, signal }: OutboxOptions): Outbox {
  const messages: string[] = [];
  let sending: Promise<void> | undefined;
  /** The first of them waits for somebody to take it. */
  let isBlocked = false;
  let wake: () => void = () => {};

  async function sendAll(): Promise<void> {
    for (let text = messages[0]; text !== undefined && !signal.aborted; text = messages[0]) {
      await sendOne(text);
    }
    sending = undefined;
  }

  async function sendOne(text: string): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        await send(text, tries === 0);
        isBlocked = false;
        messages.shift();
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isPassing(error)) {
          isBlocked = false;
          messages.shift();
          await refused(error, text);
          return;
        }
        if (tries === 0) await kept(error);
        isBlocked = true;
        wake();
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  return {
    put(text) {
      messages.push(text);
      sending ??= sendAll();
    },
    async idle() {
      if (isBlocked) return;
      const blocked = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([sending, blocked]);
    },
    isBlocked: () => isBlocked,
    waiting: () => messages,
  };
}
