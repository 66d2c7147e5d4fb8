/**
 * Which event ends what is told live: the one place that decides it, for all who keep open blocks. No zod here:
 * workflows use it.
 */
import type { DurableEvent } from './events.js';
import type { LiveEvent } from './live-events.js';

/** A block that is open, or any live event that stands for itself. */
export interface ToldLive {
  step_id?: string | undefined;
  /** Of a tool's output and progress; the arguments of a call belong to the model's step, which has no call yet. */
  tool_call_id?: string | undefined;
  block_id?: string;
  attempt?: number;
}

/** The kinds that end anything. */
export const ENDING_KINDS: ReadonlySet<string> = new Set([
  'text_end',
  'thinking_end',
  'summary_final',
  'attempt_retracted',
  'tool_requested',
  'tool_result',
  'step_completed',
  'run_completed',
]);

/** True when nothing more of this can be told after that event: it is in the log, void, or over. */
export function closes(event: DurableEvent | LiveEvent, told: ToldLive): boolean {
  switch (event.type) {
    case 'text_end':
    case 'thinking_end':
    case 'summary_final':
      return event.block_id !== undefined && event.block_id === told.block_id;
    case 'attempt_retracted':
      // A tool's output has attempts of its own; only a model call's are retracted by step.
      return told.block_id !== undefined && told.tool_call_id === undefined && isOf(event, told) && isVoid(event, told);
    // The arguments of all calls of a step are complete together.
    case 'tool_requested':
      return isOf(event, told) && told.block_id?.startsWith(`${told.step_id ?? ''}.input_`) === true;
    case 'tool_result':
      return event.tool_call_id !== undefined && event.tool_call_id === told.tool_call_id;
    case 'step_completed':
      return isOf(event, told);
    case 'run_completed':
      return true;
    default:
      return false;
  }
}

function isOf(event: { step_id?: string | undefined }, told: ToldLive): boolean {
  return event.step_id === told.step_id;
}

function isVoid({ attempt }: { attempt: number }, told: ToldLive): boolean {
  return (told.attempt ?? 0) <= attempt;
}
