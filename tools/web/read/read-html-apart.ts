/** Reads a page in a thread of its own, with a limit of time and memory. */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ToolError } from '../../../kit/tool-error.js';
import type { ReadablePage } from './read-html.js';

const TIME_LIMIT_MS = 15_000;
const MEMORY_LIMIT_MB = 512;

/** Threads load JavaScript only: from source (tests, development) the built one is used, as it is for workflows. */
const BESIDE = import.meta.url.endsWith('.ts') ? '../../../dist/tools/web/read/' : './';
const THREAD = fileURLToPath(new URL(`${BESIDE}read-html-thread.js`, import.meta.url));

export async function readHtmlApart(html: string, url: string, signal: AbortSignal): Promise<ReadablePage> {
  signal.throwIfAborted();
  const worker = new Worker(THREAD, {
    workerData: { html, url },
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_LIMIT_MB },
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]);
  return new Promise<ReadablePage>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? unreadable(url, error) : error),
    );
    worker.once('exit', (code) => reject(new Error(`the thread that read ${url} ended with code ${code}`)));
    limit.addEventListener('abort', () => reject(signal.aborted ? signal.reason : unreadable(url, limit.reason)), {
      once: true,
    });
  }).finally(() => void worker.terminate());
}

function unreadable(url: string, cause: unknown): ToolError {
  const message = `${url.slice(0, 200)} cannot be read: its HTML takes too much time or memory. Use another source.`;
  return new ToolError('unavailable', message, { cause });
}
