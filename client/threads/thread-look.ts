/** How far a thread is, looked at as cheaply as can be: it is queried only where its history has grown since. */
import type { Client } from '@temporalio/client';
import { isPerdureError } from '../../contract/errors.js';
import type { ThreadEnded } from '../../contract/thread-events.js';
import { readExecution } from '../execution.js';
import { explainThread, unknownThread } from './read-thread.js';
import type { ThreadReader } from './read-thread.js';

export interface ThreadLook {
  /** True where there was anything new. Joins a look that is on its way. Throws `unknown_thread` the first time. */
  again(): Promise<boolean>;
  /** A look that begins now. */
  afresh(): Promise<boolean>;
  /** Counts the looks that found something new. */
  version(): number;
  turns(): number;
  openRun(): string | undefined;
  end(): ThreadEnded | undefined;
}

const ENDS: Record<string, ThreadEnded['reason']> = {
  COMPLETED: 'deleted',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed_out',
  FAILED: 'engine_failed',
  CANCELLED: 'engine_failed',
};

export function createThreadLook(client: Client, reader: ThreadReader, threadId: string): ThreadLook {
  /** Which execution of the thread was last read, and how long its history was then. */
  let mark: string | undefined;
  let version = 0;
  let turns = 0;
  let openRun: string | undefined;
  let end: ThreadEnded | undefined;
  let looking: Promise<boolean> | undefined;

  async function look(): Promise<boolean> {
    if (end !== undefined) return false;
    try {
      return await read();
    } catch (error) {
      const explained = explainThread(error, threadId);
      // One that was there says that it is deleted before its workflow has ended.
      if (mark === undefined || !isPerdureError(explained) || explained.code !== 'unknown_thread') throw explained;
      return ended('deleted');
    }
  }

  async function read(): Promise<boolean> {
    const { status, runId, historyLength } = await readExecution(client, threadId);
    const reason = ENDS[status];
    if (reason !== undefined && mark === undefined) throw unknownThread(threadId);
    if (reason !== undefined) return ended(reason);
    const now = `${runId} ${historyLength}`;
    if (now === mark) return false;
    const header = await reader.header(threadId);
    turns = header.turns;
    openRun = header.turn?.run_id;
    mark = now;
    version += 1;
    return true;
  }

  function ended(reason: ThreadEnded['reason']): true {
    const how = reason === 'deleted' ? 'was deleted' : `ended in the engine (${reason})`;
    const message = `Thread ${threadId} ${how}: nothing more will come.`;
    end = { type: 'thread_ended', thread_id: threadId, reason, message };
    version += 1;
    return true;
  }

  function again(): Promise<boolean> {
    looking ??= look().finally(() => (looking = undefined));
    return looking;
  }

  return {
    again,
    async afresh() {
      // One that is on its way may have begun before what the caller knows of.
      await looking?.catch(() => {});
      return again();
    },
    version: () => version,
    turns: () => turns,
    openRun: () => openRun,
    end: () => end,
  };
}
