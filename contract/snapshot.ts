/** Where a run stands, as a projection of its log. No zod here. */
import type { DurableEvent } from './events.js';
import type { Cancellation, Failure, RunHandle, RunPhase, RunUsage } from './run.js';
import type { ToolFailureKind } from './tools.js';

export interface ToolSnapshot {
  tool_call_id: string;
  name: string;
  tool_id?: string;
  arguments: string;
  state: 'requested' | 'scheduled' | 'success' | 'error';
  failure_kind?: ToolFailureKind;
  duration_ms?: number;
  attempts?: number;
}

export interface StepSnapshot {
  step_id: string;
  step_number: number;
  title: string;
  started_at: string;
  status?: 'completed' | 'error';
  duration_ms?: number;
  text?: string;
  tools: ToolSnapshot[];
}

export interface RunSnapshot {
  run: RunHandle;
  phase: RunPhase;
  status: 'running' | 'success' | 'failed' | 'canceled';
  started_at: string;
  duration_ms?: number;
  /** Number of events in the log. */
  tail: number;
  steps: StepSnapshot[];
  usage: RunUsage;
  answer?: string;
  failure?: Failure;
  cancellation?: Cancellation;
}

export const NO_USAGE: RunUsage = {
  model_calls: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
};

export function projectSnapshot(events: Iterable<DurableEvent>): RunSnapshot | undefined {
  let snapshot: RunSnapshot | undefined;
  for (const event of events) {
    snapshot ??= begin(event);
    snapshot.tail = event.seq + 1;
    fold(snapshot, event);
  }
  return snapshot;
}

function begin(event: DurableEvent): RunSnapshot {
  return {
    run: {
      run_id: event.run_id,
      agent_id: event.agent_id,
      root_run_id: event.root_run_id,
      ...(event.parent_run_id === undefined ? {} : { parent_run_id: event.parent_run_id }),
      ...(event.parent_tool_call_id === undefined ? {} : { parent_tool_call_id: event.parent_tool_call_id }),
      ...(event.thread_id === undefined ? {} : { thread_id: event.thread_id }),
    },
    phase: 'prompted',
    status: 'running',
    started_at: event.at,
    tail: 0,
    steps: [],
    usage: { ...NO_USAGE },
  };
}

function fold(snapshot: RunSnapshot, event: DurableEvent): void {
  const step = snapshot.steps.at(-1);
  switch (event.type) {
    case 'run_phase_changed':
      snapshot.phase = event.phase;
      return;
    case 'step_started':
      snapshot.steps.push({
        step_id: event.step_id ?? '',
        step_number: event.step_number,
        title: event.title,
        started_at: event.at,
        tools: [],
      });
      return;
    case 'text_end':
      if (step) step.text = (step.text ?? '') + event.text;
      return;
    case 'usage_recorded':
      snapshot.usage = addUsage(snapshot.usage, {
        ...NO_USAGE,
        model_calls: 1,
        input_tokens: event.usage.input_tokens,
        output_tokens: event.usage.output_tokens,
        total_tokens: event.usage.total_tokens,
      });
      return;
    case 'tool_requested':
      step?.tools.push({
        tool_call_id: event.tool_call_id ?? '',
        name: event.name,
        ...(event.tool_id === undefined ? {} : { tool_id: event.tool_id }),
        arguments: event.arguments,
        state: 'requested',
      });
      return;
    case 'tool_scheduled':
      snapshot.usage.tool_calls += 1;
      updateTool(snapshot, event.tool_call_id, { state: 'scheduled' });
      return;
    case 'tool_result':
      updateTool(snapshot, event.tool_call_id, {
        state: event.status,
        duration_ms: event.duration_ms,
        attempts: event.attempts,
        ...(event.status === 'error' ? { failure_kind: event.failure.kind } : {}),
      });
      return;
    case 'step_completed':
      if (step) {
        step.status = event.status;
        step.duration_ms = event.duration_ms;
      }
      return;
    case 'summary_final':
      snapshot.answer = event.text;
      return;
    case 'run_completed':
      snapshot.status = event.status;
      snapshot.duration_ms = event.duration_ms;
      snapshot.usage = event.usage;
      if (event.status === 'success') snapshot.answer = event.answer;
      else if (event.status === 'failed') snapshot.failure = event.failure;
      else snapshot.cancellation = event.cancellation;
      return;
    default:
      return;
  }
}

function updateTool(snapshot: RunSnapshot, callId: string | undefined, change: Partial<ToolSnapshot>): void {
  for (const step of snapshot.steps)
    for (const tool of step.tools) if (tool.tool_call_id === callId) Object.assign(tool, change);
}

export function addUsage(a: RunUsage, b: RunUsage): RunUsage {
  return {
    model_calls: a.model_calls + b.model_calls,
    tool_calls: a.tool_calls + b.tool_calls,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    ...(a.cost_usd === undefined && b.cost_usd === undefined
      ? {}
      : { cost_usd: (a.cost_usd ?? 0) + (b.cost_usd ?? 0) }),
  };
}
