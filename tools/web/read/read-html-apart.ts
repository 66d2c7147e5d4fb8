/** Reads pages in threads, with a limit of time and memory for each, and of pages at the same time. */
import { availableParallelism } from 'node:os';
import { ToolError } from '../../../kit/tool-error.js';
import { createFairQueue } from '../../fair-queue.js';
import type { Ticket } from '../../fair-queue.js';
import { createThreadPool, TooExpensive } from '../../threads/thread-pool.js';
import type { ReadablePage } from './read-html.js';

const TIME_LIMIT_MS = 15_000;
const MEMORY_LIMIT_MB = 512;
const AT_ONCE = Math.max(2, availableParallelism());

export function createReadHtml(): (html: string, url: string, ticket: Ticket) => Promise<ReadablePage> {
  const queue = createFairQueue({
    what: 'web pages',
    at_once: AT_ONCE,
    per_group: Math.ceil(AT_ONCE / 2),
    most_waiting: 50,
    wait_ms: 20_000,
  });
  const threads = createThreadPool<{ html: string; url: string }, ReadablePage>({
    file: 'web/read/read-html-thread.js',
    queue,
    time_ms: TIME_LIMIT_MS,
    memory_mb: MEMORY_LIMIT_MB,
  });
  return (html, url, ticket) =>
    threads.ask({ html, url }, ticket).catch((error: unknown) => {
      throw error instanceof TooExpensive ? unreadable(url, error) : error;
    });
}

function unreadable(url: string, cause: unknown): ToolError {
  const message = `${url.slice(0, 200)} cannot be read: its HTML takes too much time or memory. Use another source.`;
  return new ToolError('unavailable', message, { cause });
}
