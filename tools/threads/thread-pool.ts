/**
 * Work on what others wrote, in threads that can be stopped: it holds up nobody but those who wait for it.
 *
 * P1  A request that takes too much time or memory ends with its thread, and with nothing else: the next one gets a
 *     new thread.
 * P2  A thread that has done its work is kept for the next request, and ends when none comes for a while. It never
 *     keeps the process from ending.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FairQueue, Ticket } from '../fair-queue.js';
import type { Answer } from './serve-requests.js';

export interface ThreadPoolOptions {
  /** The compiled file that serves the requests: below `tools/`. */
  file: string;
  queue: FairQueue;
  /** Of one request. */
  time_ms: number;
  memory_mb: number;
}

export interface ThreadPool<Request, Reply> {
  ask(request: Request, ticket: Ticket): Promise<Reply>;
  close(): Promise<void>;
}

/** The request was stopped. */
export class TooExpensive extends Error {
  override readonly name = 'TooExpensive';
}

const START_MS = 30_000;
const IDLE_MS = 60_000;

/** Threads load JavaScript only: from source (tests, development) the built one is used, as it is for workflows. */
const TOOLS = new URL(import.meta.url.endsWith('.ts') ? '../../dist/tools/' : '../', import.meta.url);

export function createThreadPool<Request, Reply>(options: ThreadPoolOptions): ThreadPool<Request, Reply> {
  const { queue, time_ms, memory_mb } = options;
  const file = fileURLToPath(new URL(options.file, TOOLS));
  const all = new Set<Worker>();
  const idle = new Map<Worker, NodeJS.Timeout>();

  function start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: memory_mb };
    const thread = new Worker(file, { execArgv: [], env: {}, resourceLimits });
    all.add(thread);
    thread.once('exit', () => {
      all.delete(thread);
      clearTimeout(idle.get(thread));
      idle.delete(thread);
    });
    // One that fails while nobody asks is only gone: whoever asks listens as well.
    thread.on('error', () => {});
    return thread;
  }

  function take(): { thread: Worker; isNew: boolean } {
    const [kept] = idle.keys();
    if (kept === undefined) return { thread: start(), isNew: true };
    clearTimeout(idle.get(kept));
    idle.delete(kept);
    kept.ref();
    return { thread: kept, isNew: false };
  }

  /** Before it has ended, nobody may be given it any more. */
  async function stop(thread: Worker): Promise<void> {
    clearTimeout(idle.get(thread));
    idle.delete(thread);
    await thread.terminate();
  }

  function keep(thread: Worker): void {
    thread.unref();
    const timer = setTimeout(() => void stop(thread), IDLE_MS);
    timer.unref();
    idle.set(thread, timer);
  }

  function work(request: Request, signal: AbortSignal): Promise<Reply> {
    const { thread, isNew } = take();
    return new Promise<Reply>((resolve, reject) => {
      let timer: NodeJS.Timeout;
      const end = (how: () => void, isWell: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        thread.off('message', onMessage).off('error', onError).off('exit', onExit);
        if (isWell) keep(thread);
        else void thread.terminate();
        how();
      };
      const fail = (error: unknown) => end(() => reject(error as Error), false);
      const onAbort = () => fail(signal.reason);
      const onExit = (code: number) => fail(new Error(`its thread ended with code ${code}`));
      const onError = (error: NodeJS.ErrnoException) =>
        fail(
          error.code === 'ERR_WORKER_OUT_OF_MEMORY'
            ? new TooExpensive(`it takes more than ${memory_mb} MB of memory`)
            : error,
        );
      const within = (ms: number, error: Error) => {
        clearTimeout(timer);
        timer = setTimeout(() => fail(error), ms);
      };
      const send = () => {
        within(time_ms, new TooExpensive(`it takes more than ${time_ms / 1000} s`));
        thread.postMessage(request);
      };
      const onMessage = (answer: Answer) => {
        if ('ready' in answer) send();
        else if ('value' in answer) end(() => resolve(answer.value as Reply), true);
        else end(() => reject(new Error(answer.error)), true);
      };
      thread.on('message', onMessage).on('error', onError).on('exit', onExit);
      signal.addEventListener('abort', onAbort, { once: true });
      // A new thread has to load its code first, which is not the request's time.
      if (isNew) within(START_MS, new Error(`its thread did not start within ${START_MS} ms`));
      else send();
    });
  }

  return {
    ask: (request, ticket) => queue.run(ticket, () => work(request, ticket.signal)),
    async close() {
      await Promise.all([...all].map(stop));
    },
  };
}
