/** Calls, their progress and their results. */
import type { EventOf } from '../../contract/events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { addTwin, forgetCall, hasTwin } from '../shown-twins.js';
import { calledTool } from '../tool-words.js';
import { callOf, quiet, told, unplaced } from './state.js';
import type { ContractState, ContractTold } from './state.js';
import { closeCode, closeOutput } from './tell-code.js';
import { tellText } from './tell-text.js';
import { endLines, familyOf, openCall, startLines, toolStatus } from './tool-lines.js';

export function tellRequested(state: ContractState, event: EventOf<'tool_requested'>): ContractTold {
  const { run_id, tool_call_id = '' } = event;
  const text = tellText(state, event);
  const call = openCall(calledTool(event), event.arguments);
  const [start, status] = startLines(run_id, call, event.arguments);
  const known = { ...text.state, calls: { ...state.calls, [tool_call_id]: call } };
  if (familyOf(call.tool) !== 'code') {
    const starts = told(known, [start, status]);
    return { ...starts, lines: [...text.lines, ...starts.lines] };
  }
  const code = closeCode(known, event, 1);
  const isPlaced = (line: { place?: number }) => line.place !== undefined;
  return {
    state: code.state,
    lines: [
      ...text.lines,
      ...code.lines.filter((line) => !isPlaced(line)),
      { place: 0, data: start },
      ...code.lines.filter(isPlaced),
      { place: 2, data: status },
    ],
    warnings: [],
  };
}

type Progress = Extract<StreamEvent, { type: 'tool_progress' | 'tool_retry' }>;

export function tellProgress(state: ContractState, event: Progress): ContractTold {
  const call = callOf(state, event);
  const line =
    event.type === 'tool_progress'
      ? toolStatus(event.run_id, call, 'in_progress', event.message || `${call.tool} is at work.`)
      : toolStatus(event.run_id, call, 'warning', tryingAgain(event));
  const { twins } = state.shown;
  if ('seq' in event) return hasTwin(twins, event.live_id) ? quiet(state) : told(state, [line]);
  const shown = { ...state.shown, twins: addTwin(twins, event.live_id, event.tool_call_id ?? '') };
  return { state: { ...state, shown }, lines: unplaced([line]), warnings: [] };
}

function tryingAgain({ attempt, reason }: { attempt: number; reason: string }): string {
  return `Trying again (attempt ${attempt})${reason === '' ? '.' : `: ${reason}`}`;
}

export function tellResult(before: ContractState, event: EventOf<'tool_result'>): ContractTold {
  const { run_id, tool_call_id = '' } = event;
  const call = callOf(before, event);
  const calls = Object.fromEntries(Object.entries(before.calls).filter(([id]) => id !== tool_call_id));
  const shown = { ...before.shown, twins: forgetCall(before.shown.twins, tool_call_id) };
  const state = { ...before, calls, shown };
  const isCode = familyOf(call.tool) === 'code';
  const first = isCode ? 1 : 0;
  const ends = endLines(run_id, call, event).flatMap((data, at) =>
    data === undefined ? [] : [{ place: first + at, data }],
  );
  if (!isCode) return { state, lines: ends, warnings: [] };
  const output = closeOutput(state, event, 0);
  return { state: output.state, lines: [...output.lines, ...ends], warnings: [] };
}
