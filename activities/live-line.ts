/** One activity's line to readers: live events with the run's provenance, on the channel and, where asked, by signal. */
import type { Context } from '@temporalio/activity';
import type { LiveEvent } from '../contract/live-events.js';
import type { RunHandle } from '../contract/run.js';
import type { CallBoard } from '../live/call-board.js';
import type { LiveChannel } from '../live/channel.js';
import type { SignalPublishing } from '../live/signal-publisher.js';

type Draft<E> = E extends LiveEvent ? Omit<E, keyof RunHandle | 'step_id'> : never;

export interface LiveLine {
  publish(event: Draft<LiveEvent>): void;
  flush(): Promise<void>;
}

export interface LiveDependencies {
  channel: LiveChannel;
  calls: CallBoard;
  signals: SignalPublishing;
}

export function openLiveLine(
  { channel, signals }: LiveDependencies,
  context: Context,
  input: { run: RunHandle; step_id: string; signal_live: boolean },
): LiveLine {
  const { workflowExecution } = context.info;
  const origin = workflowExecution === undefined ? undefined : { execution: workflowExecution.runId };
  const publisher =
    input.signal_live && workflowExecution !== undefined ? signals.for(workflowExecution, context.client) : undefined;
  return {
    publish(draft) {
      const { type, live_id, ...rest } = draft;
      const event = { type, live_id, ...input.run, step_id: input.step_id, ...rest } as LiveEvent;
      channel.publishLive(input.run.run_id, [event], origin);
      publisher?.publish(event);
    },
    flush: async () => publisher?.flush(),
  };
}
