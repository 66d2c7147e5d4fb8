/**
 * The turn that is going on, as a reader sees it: the messages of its run's log, and the text that is being written.
 * One per run in this process, on the run's one feed, for as long as somebody asks.
 */
import { ERRORS, isPerdureError } from '../../contract/errors.js';
import type { DurableEvent } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { foldTurn, withLiveText } from '../../contract/thread-projection.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { beginTurnMessages } from '../../contract/turn-messages.js';
import type { ConcludedGoal } from '../../contract/turn-messages.js';
import type { RunStream } from '../run-stream.js';
import { createLiveText } from './live-text.js';

const KEPT_MS = 15_000;

export interface TurnView {
  /** Where these are not enough, what is new of the run is read first. */
  messages(isEnough: (messages: readonly AgentMessage[]) => boolean): Promise<AgentMessage[]>;
  /** Its goals that are concluded, as far as they were read with the messages. */
  goals(): ReadonlyMap<string, ConcludedGoal>;
  /** Its run has ended: the thread is about to take what it said. */
  isOver(): boolean;
}

interface TurnViewsOptions {
  stream: (runId: string) => RunStream;
  readOnce: (runId: string, from: number) => AsyncIterable<DurableEvent>;
}

export function createTurnViews({ stream, readOnce }: TurnViewsOptions) {
  const views = new Map<string, TurnView & { close(): void }>();

  function open(threadId: string, runId: string): TurnView & { close(): void } {
    const turn = beginTurnMessages(threadId);
    let live = createLiveText();
    let events: RunStream | undefined;
    let next = 0;
    let idle: NodeJS.Timeout | undefined;
    let isRead = false;
    let isOver = false;

    const take = (event: StreamEvent) => {
      live.take(event);
      if (!('seq' in event) || event.seq !== next) return;
      next += 1;
      foldTurn(turn, event);
      if (event.type === 'run_completed') isOver = true;
    };
    const catchUp = async () => {
      try {
        for await (const event of readOnce(runId, next)) take(event);
        isRead = true;
      } catch (error) {
        // Its start is on the way, or no worker answers now: there is nothing to show of it yet.
        if (!isPerdureError(error) || (error.code !== 'unknown_run' && !ERRORS[error.code].retry)) throw error;
      }
    };
    const close = () => {
      clearTimeout(idle);
      views.delete(runId);
      void events?.return?.();
    };
    const listen = async (opened: RunStream) => {
      live = createLiveText();
      for await (const event of opened) {
        take(event);
        if (event.type === 'run_completed') return;
      }
      // It ended early, as where the run is not there yet: whoever asks next listens again.
      events = undefined;
      isRead = false;
    };

    return {
      close,
      goals: () => turn.goals,
      isOver: () => isOver,
      async messages(isEnough) {
        clearTimeout(idle);
        idle = setTimeout(close, KEPT_MS).unref();
        if (events === undefined) {
          events = stream(runId);
          void listen(events).catch(close);
        }
        if (!isRead || !isEnough(turn.messages)) await catchUp();
        return withLiveText(turn, live.text());
      },
    };
  }

  return {
    of(threadId: string, runId: string): TurnView {
      const known = views.get(runId);
      if (known !== undefined) return known;
      const view = open(threadId, runId);
      views.set(runId, view);
      return view;
    },
    close() {
      for (const view of views.values()) view.close();
    },
  };
}
