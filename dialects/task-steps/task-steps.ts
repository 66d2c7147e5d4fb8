/**
 * The step stream of `seeds/task-steps.md`: `{ type: <chunk type>, data: <its payload> }`.
 *
 * Reasoning, phases, progress and pauses have no chunk; pauses and a bad end are said by the transport. Deltas cannot
 * be taken back: when a retried call goes another way, a delta of a blank line separates the two and the transport
 * warns. `step_final` holds the step as the log has it, whatever deltas came before.
 */
import type { StreamEvent } from '../../contract/live-events.js';
import type { TaskStep, TaskStepChunk } from '../../contract/task-steps.js';
import type { Dialect, Line, Told } from '../dialect.js';
import { followText } from '../follow-text.js';
import type { TextNews } from '../follow-text.js';
import { pauseWarnings } from '../pause-warning.js';
import { readShown, writeShown } from '../shown-cursor.js';
import { nothingShown } from '../shown-text.js';
import type { Shown } from '../shown-text.js';
import { streamWarnings, VOID_TEXT } from '../stream-warning.js';
import { callPart, foldStep, resultPart } from './fold-step.js';

export interface TaskStepsState {
  readonly shown: Shown;
  readonly nested: boolean;
  readonly step?: TaskStep;
}

export const taskSteps: Dialect<TaskStepsState> = {
  name: 'task_steps',
  keeps: true,
  begin: ({ commit, nested = false }) => ({ shown: nothingShown(commit), nested }),
  tell(state, event): Told<TaskStepsState> {
    const { shown, news } = followText(state.shown, event);
    const texts = news.filter(({ of }) => of === 'text');
    const step = 'seq' in event ? foldStep(state.step, event, state.nested) : state.step;
    const warnings = [...pauseWarnings(event), ...streamWarnings(event)];
    if (texts.some(({ voided }) => voided)) warnings.push(VOID_TEXT);
    const chunk = chunkOf(event, step, state.nested);
    const lines = [...texts.flatMap(deltas), ...(chunk === undefined ? [] : [{ place: 0, data: chunk }])];
    return { state: { ...state, shown, ...(step === undefined ? {} : { step }) }, lines, warnings };
  },
  shown: ({ shown }) => writeShown(shown),
  resume: (state, written) => ({ ...state, shown: readShown(state.shown, written) }),
};

function chunkOf(event: StreamEvent, step: TaskStep | undefined, nested: boolean): TaskStepChunk | undefined {
  if (event.type === 'tool_requested') return { type: 'tool_call_part', data: callPart(event, nested) };
  if (event.type === 'tool_result') return { type: 'tool_result_part', data: resultPart(event, nested) };
  return event.type === 'step_completed' && step !== undefined ? { type: 'step_final', data: step } : undefined;
}

function deltas({ voided, again, text, from, durable }: TextNews): Line[] {
  const lines: Line[] = voided ? [{ data: delta(`\n\n${again}`) }] : [];
  const rest = text.slice(from);
  if (rest !== '') lines.push({ ...(durable ? { place: 0 } : {}), data: delta(rest) });
  return lines;
}

function delta(data: string): TaskStepChunk {
  return { type: 'text_part_delta', data };
}
