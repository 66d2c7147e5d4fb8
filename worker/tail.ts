/**
 * Publishes what a workflow task appended, once it is committed. The hint comes from inside the task (a sink, which
 * must return at once: the task waits for it), so the events are read with a query, which the server answers only
 * after the task has completed. One query per run is in flight, and only for runs that someone watches.
 */
import type { Client } from '@temporalio/client';
import { logReader, readEvents } from '../client/read-log.js';
import type { DurableEvent } from '../contract/events.js';
import type { CommittedEvent, LiveChannel } from '../live/channel.js';

export interface Tail {
  appended(runId: string, fromSeq: number): void;
  ended(runId: string, fromSeq: number, texts: readonly string[]): void;
  /** Resolves when no query is in flight any more; hints that come later are ignored. */
  stop(): Promise<void>;
}

export function createTail(client: Client, channel: LiveChannel, onError: (error: unknown) => void): Tail {
  /** The last events of runs that are ending, published once the server says that the run is closed. */
  const endings = new Map<string, CommittedEvent[]>();
  /** Runs being read; the value is where to read on, if a hint came meanwhile. */
  const reading = new Map<string, number | undefined>();
  const following = new Set<Promise<void>>();
  let stopped = false;

  async function isClosed(runId: string): Promise<boolean> {
    const handle = client.workflow.getHandle(runId);
    for (const wait of [2, 5, 10, 20, 40]) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const { status } = await client.withDeadline(Date.now() + 5_000, () => handle.describe());
      if (status.name !== 'RUNNING') return true;
    }
    return false;
  }

  async function publish(runId: string, fromSeq: number): Promise<void> {
    const ending = endings.get(runId);
    endings.delete(runId);
    if (ending !== undefined && ending[0]?.seq === fromSeq && (await isClosed(runId))) {
      channel.publishCommitted(runId, ending);
      return;
    }
    const events: CommittedEvent[] = [];
    for await (const event of readEvents(logReader(client, runId), fromSeq)) events.push(event);
    if (events.length > 0) channel.publishCommitted(runId, events);
  }

  async function follow(runId: string, fromSeq: number): Promise<void> {
    let next: number | undefined = fromSeq;
    await new Promise((resolve) => setImmediate(resolve));
    try {
      while (next !== undefined && !stopped && channel.watched(runId)) {
        reading.set(runId, undefined);
        await publish(runId, next);
        next = reading.get(runId);
      }
    } catch (error) {
      // The feed notices the gap and reads for itself.
      onError(error);
    } finally {
      endings.delete(runId);
      reading.delete(runId);
    }
  }

  return {
    appended(runId, fromSeq) {
      if (stopped || !channel.watched(runId)) return;
      if (reading.has(runId)) {
        const noted = reading.get(runId);
        reading.set(runId, noted === undefined ? fromSeq : Math.min(noted, fromSeq));
        return;
      }
      reading.set(runId, undefined);
      const followed = follow(runId, fromSeq).finally(() => following.delete(followed));
      following.add(followed);
    },
    ended(runId, fromSeq, texts) {
      if (!reading.has(runId)) return;
      const toEvent = (text: string, n: number) => ({
        seq: fromSeq + n,
        text,
        event: JSON.parse(text) as DurableEvent,
      });
      endings.set(runId, texts.map(toEvent));
    },
    async stop() {
      stopped = true;
      await Promise.all(following);
    },
  };
}
