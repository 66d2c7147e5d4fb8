/**
 * What one reader was told of the texts of a run, so that it can be told exactly the rest.
 *
 * X1  Of one attempt of a block the reader gets each character once, in order: a chunk that begins behind what it has
 *     is left out, one that begins before it is cut.
 * X2  Before the event that closes a block, the rest of its text is one more chunk: all of it where nothing was told.
 * X3  After that event, or after a retraction, nothing more of it is told.
 */
import { closes, ENDING_KINDS } from '../contract/closes.js';
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent, StreamEvent } from '../contract/live-events.js';
import type { RunHandle } from '../contract/run.js';
import { unseenPart } from '../live/open-blocks.js';
import type { Delta } from '../live/open-blocks.js';

interface ToldBlock {
  block_id: string;
  attempt: number;
  step_id: string | undefined;
  tool_call_id: string | undefined;
  length: number;
  index: number;
  /** A chunk was missed that did not say where it began: nothing can be added before the closing event. */
  broken: boolean;
}

export interface ToldText {
  /** What the reader is to be given of a live event. */
  live(event: LiveEvent): LiveEvent | undefined;
  /** It will not be given. */
  missed(event: LiveEvent): void;
  /** What the reader is to be given before the durable event; undefined where it has all. */
  rest(event: DurableEvent): LiveEvent | undefined;
  durable(event: DurableEvent): void;
}

const CHUNKS = { text_end: 'text_chunk', thinking_end: 'thinking_chunk', summary_final: 'summary_chunk' } as const;

export function createToldText(): ToldText {
  let blocks: ToldBlock[] = [];
  /** The blocks that are closed, with their steps: forgotten when another step begins. */
  let over: { block_id: string; step_id: string | undefined }[] = [];

  const find = (block_id: string, attempt: number) =>
    blocks.find((block) => block.block_id === block_id && block.attempt === attempt);

  function open({ block_id, attempt, step_id, tool_call_id }: Delta): ToldBlock {
    const known = find(block_id, attempt);
    if (known !== undefined) return known;
    const block = { block_id, attempt, step_id, tool_call_id, length: 0, index: -1, broken: false };
    blocks.push(block);
    return block;
  }

  return {
    live(event) {
      if (event.type === 'attempt_retracted') blocks = blocks.filter((block) => !closes(event, block));
      if (!('block_id' in event)) return event;
      if (over.some(({ block_id }) => block_id === event.block_id)) return undefined;
      if (!('index' in event)) return event;
      const block = open(event);
      const shown = block.broken ? undefined : unseenPart(block, event);
      if (shown === undefined) return undefined;
      block.length += shown.text.length;
      block.index = shown.index;
      return shown;
    },
    missed(event) {
      if ('index' in event && event.offset === undefined) open(event).broken = true;
    },
    rest(event) {
      if (event.type !== 'text_end' && event.type !== 'thinking_end' && event.type !== 'summary_final')
        return undefined;
      const { block_id, attempt = 1, text } = event;
      if (block_id === undefined) return undefined;
      const block = find(block_id, attempt);
      const { length, index, broken } = block ?? { length: 0, index: -1, broken: false };
      if (broken || length >= text.length) return undefined;
      const chunk: Delta = {
        type: CHUNKS[event.type],
        live_id: `${block_id}#${attempt}.rest`,
        ...handleOf(event),
        ...(event.step_id === undefined ? {} : { step_id: event.step_id }),
        block_id,
        attempt,
        index: index + 1,
        offset: length,
        text: text.slice(length),
      };
      const told = open(chunk);
      told.length = text.length;
      return chunk;
    },
    durable(event) {
      if (event.type === 'step_started') {
        blocks = [];
        over = [];
        return;
      }
      if (!ENDING_KINDS.has(event.type)) return;
      const [ended, still] = [
        blocks.filter((block) => closes(event, block)),
        blocks.filter((block) => !closes(event, block)),
      ];
      blocks = still;
      if (event.type === 'attempt_retracted') return;
      over.push(...ended.map(({ block_id, step_id }) => ({ block_id, step_id })));
      if ('block_id' in event && event.block_id !== undefined)
        over.push({ block_id: event.block_id, step_id: event.step_id });
    },
  };
}

/** A log that is read and not followed, told like a stream. */
export async function* withRests<E extends StreamEvent>(
  events: AsyncIterable<E>,
): AsyncGenerator<E | LiveEvent, undefined> {
  const told = createToldText();
  for await (const event of events) {
    if ('seq' in event) {
      const rest = told.rest(event);
      if (rest !== undefined) yield rest;
      told.durable(event);
    }
    yield event;
  }
}

function handleOf(event: DurableEvent): RunHandle {
  const { run_id, agent_id, root_run_id, parent_run_id, parent_tool_call_id, thread_id } = event;
  return {
    run_id,
    agent_id,
    root_run_id,
    ...(parent_run_id === undefined ? {} : { parent_run_id }),
    ...(parent_tool_call_id === undefined ? {} : { parent_tool_call_id }),
    ...(thread_id === undefined ? {} : { thread_id }),
  };
}
