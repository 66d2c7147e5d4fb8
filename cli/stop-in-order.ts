/** The end of a command that serves until it is told to stop, or until what it runs breaks. */
import { EXIT } from './exit-codes.js';
import type { Interrupts } from './interrupts.js';

/** Above the worker's own grace: a tool that ignores its abort signal must not hold us for ever. */
const DRAIN_LIMIT_MS = 20_000;

export interface Serving {
  /** Rejects when it ends by itself. */
  broken: Promise<never>;
  stop(): Promise<void>;
  say(line: string): void;
}

/** Resolves with the exit code when it has stopped in order; rejects with what broke. */
export async function serveUntilStopped({ broken, stop, say }: Serving, interrupts: Interrupts): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    broken.catch(reject);
    interrupts.handle(
      () => {
        say('stopping: work in progress may finish; Ctrl-C again stops at once');
        resolve();
      },
      () => process.exit(EXIT.interrupted),
    );
  }).catch(async (error: unknown) => {
    await bounded(stop(), say);
    throw error;
  });
  await bounded(stop(), say);
  say('stopped');
  return EXIT.success;
}

async function bounded(stopping: Promise<void>, say: (line: string) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      say(`some work did not stop within ${DRAIN_LIMIT_MS / 1_000} s: leaving it to the next worker`);
      resolve();
    }, DRAIN_LIMIT_MS);
  });
  try {
    await Promise.race([stopping, limit]);
  } finally {
    clearTimeout(timer);
  }
}
