/** Reads a page in a thread of its own, with a limit of time and memory. */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ToolError } from '../../../kit/tool-error.js';
import type { ReadablePage } from './read-html.js';

const TIME_LIMIT_MS = 15_000;
const MEMORY_LIMIT_MB = 512;

/** Built, it is JavaScript beside this file; from source (tests, development) it needs the loader that this has too. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const THREAD = fileURLToPath(new URL(`./read-html-thread.${EXTENSION}`, import.meta.url));
const EXEC_ARGV = EXTENSION === 'ts' ? ['--import', 'tsx'] : [];

export function readHtmlApart(html: string, url: string, signal: AbortSignal): Promise<ReadablePage> {
  const worker = new Worker(THREAD, {
    workerData: { html, url },
    execArgv: EXEC_ARGV,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_LIMIT_MB },
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]);
  return new Promise<ReadablePage>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', (error) => reject(unreadable(url, error)));
    worker.once('exit', () => reject(unreadable(url, undefined)));
    limit.addEventListener('abort', () => reject(signal.aborted ? signal.reason : unreadable(url, limit.reason)), {
      once: true,
    });
  }).finally(() => void worker.terminate());
}

function unreadable(url: string, cause: unknown): ToolError {
  const message = `${url.slice(0, 200)} cannot be read: its HTML takes too much time or memory. Use another source.`;
  return new ToolError('unavailable', message, { cause });
}
