/**
 * The turn that is going on, as a reader sees it: the messages of its run's log, and the text that is being written.
 * One per run in this process, on the run's one feed, for as long as somebody asks.
 */
import { isPerdureError } from '../../contract/errors.js';
import type { DurableEvent } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { beginTurnMessages, foldTurn, withLiveText } from '../../contract/thread-projection.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import type { RunStream } from '../run-stream.js';
import { createLiveText } from './live-text.js';

const KEPT_MS = 15_000;

export interface TurnView {
  /** With all of these tool uses in them, asked for or asking: whoever is to answer must see what. */
  messages(asked: AskedUses): Promise<AgentMessage[]>;
  /** Its goals that are concluded, as far as they were read with the messages. */
  goals(): ReadonlyMap<string, { status: 'achieved' | 'failed'; at: string }>;
  /** Its run has ended: the thread is about to take what it said. */
  isOver(): boolean;
}

export interface AskedUses {
  /** Of the client's tools. */
  results: readonly string[];
  /** Questions and approvals. */
  pauses: readonly string[];
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
        if (!isPerdureError(error)) throw error;
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
      async messages(asked) {
        clearTimeout(idle);
        idle = setTimeout(close, KEPT_MS).unref();
        if (events === undefined) {
          events = stream(runId);
          void listen(events).catch(close);
        }
        if (!isRead || !hasAll(turn.messages, asked)) await catchUp();
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

function hasAll(messages: readonly AgentMessage[], { results, pauses }: AskedUses): boolean {
  const uses = messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.content_type === 'tool_use' ? [block.tool_use_id] : [])),
  );
  const asking = messages.flatMap(({ asks }) => (asks === undefined ? [] : [asks.tool_use_id]));
  return results.every((id) => uses.includes(id)) && pauses.every((id) => asking.includes(id));
}
