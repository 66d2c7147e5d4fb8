/**
 * Publishes what a workflow task appended, once the server has taken the task as completed. The events come from inside
 * the task (a sink); whether it was completed, and by this worker, is read from the server's own history, which asks no
 * worker. Only for runs that someone watches.
 *
 * E1  An event is published only if the history says that this worker completed the task that appended it: one that was
 *     lost, or done again elsewhere, may have said something else.
 * E2  What is not published is no loss: a feed notices the gap and reads for itself.
 */
import type { Client } from '@temporalio/client';
import type { DurableEvent } from '../contract/events.js';
import type { CommittedEvent, LiveChannel } from '../live/channel.js';
import { taskOutcome } from '../live/history.js';
import type { TaskOutcome } from '../live/history.js';

export interface Appended {
  /** The engine's id of the execution. */
  execution: string;
  /** Of the worker whose task it is: no other has it. */
  identity: string;
  task: number;
  seq: number;
  text: string;
}

export interface Tail {
  appended(runId: string, event: Appended): void;
  /** Resolves when nothing is being asked any more; events that come later are ignored. */
  stop(): Promise<void>;
}

export interface TailOptions {
  client: Client;
  channel: Pick<LiveChannel, 'watched' | 'publishCommitted'>;
  onError: (error: unknown) => void;
}

/** The task's answer is on its way to the server while it is asked for. */
const FIRST_WAIT_MS = 3;
const LONGEST_WAIT_MS = 250;
/** The server gives a task ten seconds, then another worker gets it. */
const PATIENCE_MS = 12_000;

export function createTail({ client, channel, onError }: TailOptions): Tail {
  /** What was appended and is not known to be committed, in the order of `seq`. */
  const pending = new Map<string, Appended[]>();
  const following = new Set<Promise<void>>();
  let stopped = false;

  async function outcomeOf(runId: string, { execution, task }: Appended): Promise<TaskOutcome> {
    const began = Date.now();
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(LONGEST_WAIT_MS, wait * 2)) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      // It may not have been known before.
      if (!channel.watched(runId)) return { state: 'open' };
      const outcome = await taskOutcome(client, { workflowId: runId, runId: execution }, task);
      if (outcome.state !== 'open' || stopped || Date.now() - began > PATIENCE_MS) return outcome;
    }
  }

  async function follow(runId: string, events: Appended[]): Promise<void> {
    try {
      for (let [first] = events; first !== undefined && !stopped && channel.watched(runId); [first] = events) {
        const outcome = await outcomeOf(runId, first);
        const { execution, task } = first;
        // By now it may have been replaced by what another try of its task appended.
        const ofTask = events.filter((event) => event.execution === execution && event.task === task);
        if (ofTask[0] !== events[0]) continue;
        events.splice(0, ofTask.length);
        if (outcome.state !== 'completed' || outcome.identity !== first.identity) continue;
        channel.publishCommitted(runId, ofTask.map(toCommitted), { execution, task });
      }
    } catch (error) {
      onError(error);
    } finally {
      pending.delete(runId);
    }
  }

  return {
    appended(runId, event) {
      if (stopped || !channel.watched(runId)) return;
      const known = pending.get(runId);
      if (known !== undefined) {
        const replaced = known.findIndex(({ seq }) => seq >= event.seq);
        if (replaced !== -1) known.splice(replaced);
        known.push(event);
        return;
      }
      const events = [event];
      pending.set(runId, events);
      const followed = follow(runId, events).finally(() => following.delete(followed));
      following.add(followed);
    },
    async stop() {
      stopped = true;
      await Promise.all(following);
    },
  };
}

function toCommitted({ seq, text }: Appended): CommittedEvent {
  return { seq, text, event: JSON.parse(text) as DurableEvent };
}
