/**
 * The events as they are. A durable event is one line at place 0; live events and markers are lines without a place.
 * These words can retract, so attempts are told as they come, and a reader matches twins by `live_id`.
 *
 * One thing is changed: who resumes in the middle of a block is given its text so far again by the stream, and this
 * dialect leaves out what that reader has. If the block is another attempt by then, the retraction that was missed is
 * said first.
 */
import type { DurableEvent } from '../../contract/events.js';
import type { LiveEvent } from '../../contract/live-events.js';
import type { Dialect, Line, Told } from '../dialect.js';
import { fields, number, refusedCursor, text } from '../shown-cursor.js';
import { beginsWith, extendMark, markOf, NOTHING } from '../text-mark.js';
import type { Mark } from '../text-mark.js';

interface OpenBlock {
  readonly block_id: string;
  readonly attempt: number;
  readonly step: string;
  /** Of a tool's output. */
  readonly call: string;
  readonly sent: Mark;
  /** After a resume: what has come again so far. */
  readonly replayed?: string;
}

export interface PerdureState {
  readonly commit: boolean;
  readonly blocks: readonly OpenBlock[];
}

const BLOCK = 'b';

type BlockEvent = Extract<LiveEvent, { block_id: string }>;

export const perdure: Dialect<PerdureState> = {
  name: 'perdure',
  restChunks: true,
  begin: ({ commit }) => ({ commit, blocks: [] }),
  tell(state, event) {
    if ('seq' in event) {
      return {
        state: { ...state, blocks: stillOpen(state.blocks, event) },
        lines: [{ place: 0, data: event }],
        warnings: [],
      };
    }
    const isDelta = 'block_id' in event;
    if (state.commit && (isDelta || event.type === 'attempt_retracted')) return { state, lines: [], warnings: [] };
    if (isDelta) return tellBlock(state, event);
    const blocks = event.type === 'attempt_retracted' ? stillOpen(state.blocks, event) : state.blocks;
    return { state: { ...state, blocks }, lines: [{ data: event }], warnings: [] };
  },
  shown({ blocks }) {
    const begun = blocks.filter(({ sent }) => sent.length > 0);
    const entries = begun.map(({ block_id, attempt, step, call, sent: { length, a, b } }) =>
      fields(BLOCK, block_id, attempt, step, length, a, b, call),
    );
    return entries.length === 0 ? undefined : entries.join('--');
  },
  resume: (state, written) => ({ ...state, blocks: written.split('--').map(readBlock) }),
};

function tellBlock(state: PerdureState, event: BlockEvent): Told<PerdureState> {
  const missed = missedRetraction(state.blocks, event);
  const blocks = missed === undefined ? state.blocks : stillOpen(state.blocks, missed);
  const before: Line[] = missed === undefined ? [] : [{ data: missed }];
  const known = blocks.find(({ block_id, attempt }) => block_id === event.block_id && attempt === event.attempt);
  const { block_id, attempt, step_id: step = '', tool_call_id: call = '' } = event;
  const block = known ?? { block_id, attempt, step, call, sent: NOTHING };
  const put = (next: OpenBlock) => ({ ...state, blocks: [...blocks.filter((other) => other !== known), next] });
  if (!('index' in event)) {
    return { state: put(block), lines: known === undefined ? [...before, { data: event }] : before, warnings: [] };
  }
  if (block.replayed === undefined) {
    const sent = extendMark(block.sent, event.text);
    return { state: put({ ...block, sent }), lines: [...before, { data: event }], warnings: [] };
  }
  const { replayed, ...caughtUp } = block;
  const whole = replayed + event.text;
  if (whole.length < block.sent.length) {
    return { state: put({ ...block, replayed: whole }), lines: before, warnings: [] };
  }
  const rest = beginsWith(whole, block.sent) ? whole.slice(block.sent.length) : whole;
  const lines = rest === '' ? before : [...before, { data: { ...event, text: rest } }];
  return { state: put({ ...caughtUp, sent: markOf(whole) }), lines, warnings: [] };
}

/** While the reader was away, the attempt that it had seen the beginning of was given up. */
function missedRetraction(blocks: readonly OpenBlock[], event: BlockEvent): LiveEvent | undefined {
  const { step_id: step = '', tool_call_id } = event;
  const stale = blocks.some(
    (block) =>
      block.replayed !== undefined && block.call === '' && block.step === step && block.attempt < event.attempt,
  );
  if (!stale || tool_call_id !== undefined) return undefined;
  const { run_id, agent_id, root_run_id, parent_run_id, parent_tool_call_id, thread_id, step_id } = event;
  const attempt = event.attempt - 1;
  return {
    type: 'attempt_retracted',
    live_id: `${step}.retracted_${attempt}`,
    run_id,
    agent_id,
    root_run_id,
    ...(parent_run_id === undefined ? {} : { parent_run_id }),
    ...(parent_tool_call_id === undefined ? {} : { parent_tool_call_id }),
    ...(thread_id === undefined ? {} : { thread_id }),
    ...(step_id === undefined ? {} : { step_id }),
    attempt,
  };
}

function stillOpen(blocks: readonly OpenBlock[], event: DurableEvent | LiveEvent): readonly OpenBlock[] {
  if (blocks.length === 0) return blocks;
  return blocks.filter((block) => !closes(event, block));
}

function closes(event: DurableEvent | LiveEvent, block: OpenBlock): boolean {
  const { step_id: step = '' } = event;
  if (event.type === 'step_completed') return block.step === step;
  if (event.type === 'tool_result') return block.call === event.tool_call_id;
  if (event.type === 'attempt_retracted') {
    return block.step === step && block.call === '' && block.attempt <= event.attempt;
  }
  // The arguments of a step's calls are complete together.
  if (event.type === 'tool_requested') return block.block_id.startsWith(`${step}.input_`);
  return 'block_id' in event && event.block_id === block.block_id;
}

function readBlock(entry: string): OpenBlock {
  const [letter, block, attempt, step, length, a, b, call] = entry.split('-');
  if (letter !== BLOCK) throw refusedCursor();
  const sent = { length: number(length), a: number(a), b: number(b) };
  return { block_id: text(block), attempt: number(attempt), step: text(step), call: text(call), sent, replayed: '' };
}
