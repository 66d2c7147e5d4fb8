/**
 * The `temporal` channel's sending side: live events as batched signals into the run. Each signal costs history, so
 * chunks of a block are merged, batches are spaced, and their number per execution is bounded; what is not sent
 * live comes with the closing event.
 */
import type { Client } from '@temporalio/client';
import type { LiveEvent } from '../contract/live-events.js';
import { LIVE_SIGNAL } from '../contract/names.js';
import type { Delta } from './open-blocks.js';

const BATCH_INTERVAL_MS = 200;
/** A long answer is sent in longer and longer batches: what its readers see is the same, at a bounded cost. */
const SLOWEST_BATCH_INTERVAL_MS = 1_000;
/** Temporal ends an execution at 10,000 signals. */
const MAX_SIGNALS_PER_EXECUTION = 2_000;
const KEPT_COUNTS = 1_000;
/** Live text is worth a moment's wait, not a stuck activity. */
const FLUSH_LIMIT_MS = 2_000;

export interface SignalPublisher {
  publish(event: LiveEvent): void;
  /** Sends what is left. An activity awaits it before it returns, so that deltas come before their closing event. */
  flush(): Promise<void>;
}

export interface SignalPublishing {
  for(execution: { workflowId: string; runId: string }, client: Client): SignalPublisher;
}

export function createSignalPublishing(onError: (error: unknown) => void): SignalPublishing {
  const sent = new Map<string, number>();
  return {
    for({ workflowId, runId }, client) {
      let batch: LiveEvent[] = [];
      let batches = 0;
      let timer: NodeJS.Timeout | undefined;
      let sending: Promise<void> = Promise.resolve();

      const send = () => {
        clearTimeout(timer);
        timer = undefined;
        const events = batch;
        batch = [];
        const count = sent.get(runId) ?? 0;
        if (events.length === 0 || count >= MAX_SIGNALS_PER_EXECUTION) return;
        batches += 1;
        sent.set(runId, count + 1);
        if (sent.size > KEPT_COUNTS) sent.delete(sent.keys().next().value as string);
        const handle = client.workflow.getHandle(workflowId, runId);
        sending = sending.then(() => handle.signal(LIVE_SIGNAL, events)).catch(onError);
      };
      return {
        publish(event) {
          mergeInto(batch, event);
          timer ??= setTimeout(send, Math.min(SLOWEST_BATCH_INTERVAL_MS, BATCH_INTERVAL_MS + batches * 10));
        },
        async flush() {
          send();
          await Promise.race([sending, new Promise((resolve) => setTimeout(resolve, FLUSH_LIMIT_MS).unref())]);
        },
      };
    },
  };
}

export function mergeInto(batch: LiveEvent[], event: LiveEvent): void {
  const last = batch.at(-1);
  if (last === undefined || !('index' in last) || !('index' in event) || !follows(last, event)) {
    batch.push(event);
    return;
  }
  const { offset } = last;
  batch[batch.length - 1] = { ...event, ...(offset === undefined ? {} : { offset }), text: last.text + event.text };
}

function follows(last: Delta, next: Delta): boolean {
  const isOneBlock = last.type === next.type && last.block_id === next.block_id && last.attempt === next.attempt;
  if (last.offset === undefined || next.offset === undefined) return isOneBlock;
  return isOneBlock && last.offset + last.text.length === next.offset;
}
