/**
 * A TaskStep as a fold of a run's durable events: one step is one model call and the tools that it asked for. Of a run
 * that is told among others (`nested`), calls too have the run in front of their id.
 */
import type { DurableEvent, EventOf } from '../../contract/events.js';
import { idInTree, stepIdOfCall } from '../../contract/ids.js';
import type { StepPart, TaskStep, ToolCallPart, ToolResultPart } from '../../contract/task-steps.js';
import { spokenText } from '../follow-text.js';
import { calledTool, parsedArguments, resultText, toldCallId } from '../tool-words.js';

/** The part that an event adds to its step. */
function partOf(event: DurableEvent, nested: boolean): StepPart | undefined {
  switch (event.type) {
    case 'text_end':
    case 'notice_posted':
      return textPart(spokenText(event));
    case 'summary_final':
      return event.block_id === undefined ? undefined : textPart(event.text);
    case 'tool_requested':
      return callPart(event, nested);
    case 'tool_result':
      return resultPart(event, nested);
    default:
      return undefined;
  }
}

export function callPart(event: EventOf<'tool_requested'>, nested: boolean): ToolCallPart {
  return {
    type: 'tool_call',
    tool_call: { id: toldCallId(event, nested), tool_name: calledTool(event), args: parsedArguments(event.arguments) },
  };
}

export function resultPart(event: EventOf<'tool_result'>, nested: boolean): ToolResultPart {
  const { content, status } = event;
  const value = event.status === 'success' ? event.value : undefined;
  const result = value !== undefined ? value : typeof content === 'string' ? resultText(event) : content;
  return {
    type: 'tool_result',
    tool_result: { tool_call_id: toldCallId(event, nested), result, ...(status === 'error' ? { is_error: true } : {}) },
  };
}

/** A profile may leave any of them out: the first that is there opens the step. */
const OPENING: ReadonlySet<DurableEvent['type']> = new Set(['step_started', 'file_generated', 'step_completed']);

/** The step with what the event adds to it; the one before while the event opens none. */
export function foldStep(step: TaskStep | undefined, event: DurableEvent, nested: boolean): TaskStep | undefined {
  const part = partOf(event, nested);
  const opens = part !== undefined || OPENING.has(event.type);
  if (event.step_id === undefined) return step;
  const id = idInTree(event.run_id, event.step_id);
  const open = step?.id === id ? step : opens ? newStep(id, event) : undefined;
  if (open === undefined) return step;
  return {
    ...open,
    ...(part === undefined ? {} : { parts: [...open.parts, part] }),
    metadata: { ...open.metadata, ...metadataOf(event, open) },
  };
}

function newStep(id: string, event: DurableEvent): TaskStep {
  const { run_id, agent_id, parent_run_id, parent_tool_call_id = '', at } = event;
  const above = stepIdOfCall(parent_tool_call_id);
  return {
    id,
    ...(parent_run_id === undefined || above === undefined ? {} : { parent_id: idInTree(parent_run_id, above) }),
    agent_name: agent_id,
    parts: [],
    created_at: at,
    metadata: { run_id },
  };
}

function metadataOf(event: DurableEvent, open: TaskStep): Record<string, unknown> {
  if (event.type === 'step_started') return { step_number: event.step_number, title: event.title };
  if (event.type === 'step_completed') return { status: event.status, duration_ms: event.duration_ms };
  if (event.type !== 'file_generated') return {};
  const { file_id, filename, mime_type, url } = event;
  const files = (open.metadata?.['files'] as unknown[] | undefined) ?? [];
  return { files: [...files, { file_id, filename, mime_type, ...(url === undefined ? {} : { url }) }] };
}

function textPart(text: string): StepPart | undefined {
  return text === '' ? undefined : { type: 'text', text };
}
