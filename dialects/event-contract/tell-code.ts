/**
 * Code as it is written (`hot_code`) and what it prints (`hot_code_output`). Whoever did not hear them live gets them
 * from the call and from its result.
 */
import type { EventOf } from '../../contract/events.js';
import type { LiveEvent } from '../../contract/live-events.js';
import type { Line } from '../dialect.js';
import { close, endFlow, flowOf, hear } from '../shown-text.js';
import type { FlowName } from '../shown-text.js';
import { beginsWith } from '../text-mark.js';
import { resultText } from '../tool-words.js';
import { codeOf, readCode, START_OF_ARGUMENTS } from './code-field.js';
import { hotCode, hotCodeOutput } from './shapes.js';
import { quiet, unplaced } from './state.js';
import type { ContractState, ContractTold } from './state.js';
import { voidLines } from './tell-text.js';

export type LiveOf<T extends LiveEvent['type']> = Extract<LiveEvent, { type: T; live_id: string }>;

export interface CodeTold {
  state: ContractState;
  lines: readonly Line[];
}

export function tellInputChunk(state: ContractState, event: LiveOf<'tool_input_chunk'>): ContractTold {
  const { block_id, attempt, step_id = '', run_id } = event;
  const known = state.readers[block_id];
  const start = known?.attempt === attempt ? known.reader : START_OF_ARGUMENTS;
  const { reader, code } = readCode(start, event.text);
  const { shown, text, voided } = hear(state.shown, { kind: 'input', step: step_id, of: block_id }, attempt, code);
  const lines = voided ? voidLines(run_id, 'input', '') : [];
  if (text !== '') lines.push(...unplaced([hotCode(run_id, text)]));
  const readers = { ...state.readers, [block_id]: { attempt, reader } };
  return { state: { ...state, shown, readers }, lines, warnings: [] };
}

export function tellOutputChunk(state: ContractState, event: LiveOf<'tool_output_chunk'>): ContractTold {
  const { attempt, run_id } = event;
  const { shown, text, voided } = hear(state.shown, outputOf(event), attempt, event.text);
  if (text === '') return quiet({ ...state, shown });
  const pieces = [...(voided ? ['\n\n'] : []), text];
  return {
    state: { ...state, shown },
    lines: unplaced(pieces.map((piece) => hotCodeOutput(run_id, piece))),
    warnings: [],
  };
}

/** The code of a call that is complete, at the given place; whatever was not shown live. */
export function closeCode(state: ContractState, event: EventOf<'tool_requested'>, place: number): CodeTold {
  const { step_id = '', run_id } = event;
  const block = inputBlock(step_id, event.tool_call_id ?? '');
  const code = codeOf(event.arguments);
  const { shown, from, voided, again } = close(state.shown, { kind: 'input', step: step_id, of: block }, code);
  const readers = Object.fromEntries(Object.entries(state.readers).filter(([id]) => id !== block));
  const lines = voided ? voidLines(run_id, 'input', again) : [];
  const rest = code.slice(from);
  if (rest !== '') lines.push({ place, data: hotCode(run_id, rest) });
  return { state: { ...state, shown, readers }, lines };
}

/**
 * A result need not be what the code printed. Where it goes on from that, the rest is shown; where it is something
 * else, nothing more is, unless this reader may have missed some of the output.
 */
export function closeOutput(state: ContractState, event: EventOf<'tool_result'>, place: number): CodeTold {
  const name = outputOf(event);
  const { sent, following, attempt } = flowOf(state.shown, name);
  const text = resultText(event);
  // What an attempt printed whose end nobody saw says nothing about the one that counts.
  const isStale = event.attempts > attempt;
  const heardAll = sent.length > 0 && following && !isStale && state.shown.broken !== name.step;
  const from = beginsWith(text, sent) ? sent.length : heardAll ? text.length : 0;
  const missed = from === 0 && sent.length > 0;
  const rest = text.slice(from);
  return {
    state: { ...state, shown: endFlow(state.shown, name) },
    lines: [
      ...unplaced(missed ? [hotCodeOutput(event.run_id, '\n\n')] : []),
      ...(rest === '' ? [] : [{ place, data: hotCodeOutput(event.run_id, rest) }]),
    ],
  };
}

function outputOf({
  step_id = '',
  tool_call_id = '',
}: {
  step_id?: string | undefined;
  tool_call_id?: string | undefined;
}): FlowName {
  return { kind: 'output', step: step_id, of: tool_call_id };
}

/** The n-th call of a step is written in the step's n-th block of arguments. */
function inputBlock(step: string, callId: string): string {
  return `${step}.input_${callId.slice(callId.lastIndexOf('_') + 1)}`;
}
