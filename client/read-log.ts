/**
 * Reading a run's log from its workflow.
 *
 * G1  What is read is committed (`committed-query.ts`).
 * G2  What was read is kept, within a bound: where the server says that nothing has happened since, no worker is asked,
 *     and else only for what is new. However many ask for one run at the same time, one reading serves them.
 * G3  A run that is open is read in pages. One that has ended is replayed by whoever answers, so it is read in one go; by
 *     a client without external storage in pages as large as they can be.
 * G4  One that is over and in the archive is read from there, and no worker is asked.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { DurableEvent } from '../contract/events.js';
import { READ_LOG } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { PageRequest } from '../contract/pages.js';
import type { LogPage, LogPageRequest } from '../contract/queries.js';
import type { CommittedEvent } from '../live/channel.js';
import type { ClosedReader, ClosedRun } from './closed-logs.js';
import { queryCommitted } from './committed-query.js';
import { isSame, readExecution } from './execution.js';
import type { Execution } from './execution.js';
import { createKept } from './kept.js';

/** In characters of the events. */
const KEPT_CHARS = 32 * 1024 * 1024;

/** What came by signal, for the feed that reads. */
export interface LiveReading {
  from: number;
  take(page: Pick<LogPage, 'live' | 'live_next' | 'signal_live'>): void;
}

export interface LogReader {
  /** Events from `from` (negative: from the end) up to the tail as it is now. */
  events(run: string | Execution, from: number): AsyncGenerator<CommittedEvent, undefined>;
  /** The same for a feed, which has read all before `from`, and hears what came by signal. */
  follow(execution: Execution, from: number, live: LiveReading): AsyncGenerator<CommittedEvent, undefined>;
  /** How many there are. */
  tail(runId: string): Promise<number>;
  /** Of a run that is in the archive. */
  kept(runId: string, from: number): AsyncGenerator<CommittedEvent, undefined>;
}

interface KeptLog {
  events: CommittedEvent[];
  /** When it was read to its end. */
  at: Execution | undefined;
  reading: Promise<void> | undefined;
}

export function createLogReader(client: Client, closed: ClosedReader): LogReader {
  const kept = createKept<KeptLog>(KEPT_CHARS);

  async function read(execution: Execution): Promise<CommittedEvent[]> {
    const key = `${execution.workflowId} ${execution.firstRunId}`;
    const log = kept.get(key) ?? kept.put(key, { events: [], at: undefined, reading: undefined });
    if (isSame(log.at, execution)) return log.events;
    // One that is on its way may have begun before what the caller knows of; one that begins now has not.
    await log.reading?.catch(() => {});
    if (isSame(log.at, execution)) return log.events;
    log.reading ??= extend(log, execution).finally(() => {
      log.reading = undefined;
      kept.measure(key, sizeOf(log.events));
    });
    await log.reading;
    return log.events;
  }

  async function extend(log: KeptLog, execution: Execution): Promise<void> {
    for await (const item of readItems(client, execution, log.events.length)) log.events.push(toEvent(item));
    log.at = execution.hasTask ? undefined : execution;
  }

  /** G4. */
  async function find(run: string | Execution): Promise<{ kept: ClosedRun } | { execution: Execution }> {
    if (typeof run !== 'string') return { execution: run };
    const kept = await closed.find(run);
    if (kept !== undefined) return { kept };
    try {
      return { execution: await readExecution(client, run) };
    } catch (error) {
      const forgotten = error instanceof WorkflowNotFoundError ? await closed.findOnly(run) : undefined;
      if (forgotten === undefined) throw error;
      return { kept: forgotten };
    }
  }

  async function* keptEvents(runId: string, from: number): AsyncGenerator<CommittedEvent, undefined> {
    for await (const { seq, text } of closed.events(runId, from)) yield toEvent({ index: seq, text });
    return undefined;
  }

  return {
    kept: keptEvents,
    async *events(run, from) {
      const found = await find(run);
      if ('kept' in found) return yield* keptEvents(found.kept.run_id, from);
      for (const event of (await read(found.execution)).slice(from)) yield event;
      return undefined;
    },
    async *follow(execution, from, live) {
      if (!execution.isOpen) return yield* this.events(execution, from);
      const page = async (request: PageRequest) => {
        const answer = await readPage(client, execution, { ...request, live_from: live.from });
        live.take(answer);
        return answer;
      };
      for await (const item of readPages(page, from)) yield toEvent(item);
      return undefined;
    },
    async tail(runId) {
      const found = await find(runId);
      return 'kept' in found ? found.kept.tail : (await read(found.execution)).length;
    },
  };
}

/** Of a run that has ended: its log as the workflow wrote it, event by event, by a worker that replays it. */
export async function* readClosedLog(client: Client, execution: Execution): AsyncGenerator<string> {
  for await (const { text } of readItems(client, execution, 0)) yield text;
}

function readItems(
  client: Client,
  execution: Execution,
  from: number,
): AsyncGenerator<{ index: number; text: string }> {
  const size = execution.isOpen ? {} : canReadWhole(client) ? { whole: true } : { large: true };
  const page = (request: PageRequest) => readPage(client, execution, { ...request, ...size });
  return readPages(page, from);
}

/** A page above the threshold goes through external storage, which this client must have. */
function canReadWhole(client: Client): boolean {
  return client.workflow.options.loadedDataConverter.externalStorage !== undefined;
}

function readPage(client: Client, execution: Execution, request: LogPageRequest): Promise<LogPage> {
  return queryCommitted<LogPage, LogPageRequest>(client, execution.workflowId, READ_LOG, request, execution);
}

function toEvent({ index, text }: { index: number; text: string }): CommittedEvent {
  return { seq: index, text, event: JSON.parse(text) as DurableEvent };
}

function sizeOf(events: readonly CommittedEvent[]): number {
  return events.reduce((sum, { text }) => sum + text.length, 0);
}
