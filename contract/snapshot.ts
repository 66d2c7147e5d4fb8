/** Where a run stands, as a projection of its log. No zod here. */
import type { OpenAwait } from './awaits.js';
import type { DurableEvent } from './events.js';
import { renderCall } from './render-call.js';
import type { Cancellation, Failure, RunHandle, RunPhase, RunUsage, StartedChild } from './run.js';
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
  /** Pauses that are open, this run's own and those of its descendants. */
  awaits: OpenAwait[];
  /** Runs that this one started, in order. */
  children: StartedChild[];
  usage: RunUsage;
  tree_usage?: RunUsage;
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

/** The runs that a log links to, in order. */
export function childrenOf(events: readonly DurableEvent[]): StartedChild[] {
  return events.flatMap((event) =>
    event.type === 'agent_run_started' ? [{ ...event.link, tool_call_id: event.tool_call_id ?? '' }] : [],
  );
}

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
    awaits: [],
    children: [],
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
      // A child that has ended waits for nobody, whatever its last notice was.
      if (event.link !== undefined) snapshot.awaits = withoutTree(snapshot.awaits, event.link.run_id);
      updateTool(snapshot, event.tool_call_id, {
        state: event.status,
        duration_ms: event.duration_ms,
        attempts: event.attempts,
        ...(event.status === 'error' ? { failure_kind: event.failure.kind } : {}),
      });
      return;
    case 'agent_run_started':
      snapshot.children.push({ ...event.link, tool_call_id: event.tool_call_id ?? '' });
      return;
    case 'await_clarification':
      snapshot.usage.tool_calls += 1;
      snapshot.awaits = foldAwaits(snapshot.awaits, event);
      return;
    case 'await_external_tools':
      snapshot.usage.tool_calls += event.calls.length;
      snapshot.awaits = foldAwaits(snapshot.awaits, event);
      return;
    case 'await_approval':
    case 'await_resolved':
    case 'child_await_changed':
      snapshot.awaits = foldAwaits(snapshot.awaits, event);
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
      snapshot.awaits = [];
      snapshot.status = event.status;
      snapshot.duration_ms = event.duration_ms;
      snapshot.usage = event.usage;
      snapshot.tree_usage = event.tree_usage;
      if (event.status === 'success') snapshot.answer = event.answer;
      else if (event.status === 'failed') snapshot.failure = event.failure;
      else snapshot.cancellation = event.cancellation;
      return;
    default:
      return;
  }
}

function withoutTree(open: OpenAwait[], runId: string): OpenAwait[] {
  return open.filter((entry) => entry.run_id !== runId && !entry.run_id.startsWith(`${runId}/`));
}

function foldAwaits(open: OpenAwait[], event: DurableEvent): OpenAwait[] {
  const others = (runId: string, awaitId: string) =>
    open.filter((entry) => entry.run_id !== runId || entry.await_id !== awaitId);
  const { run_id } = event;
  switch (event.type) {
    case 'await_clarification': {
      const { await_id, question, choices, expires_at } = event;
      return [...open, { await_id, kind: 'clarification', run_id, question, ...defined({ choices, expires_at }) }];
    }
    case 'await_external_tools': {
      const { await_id, calls, expires_at } = event;
      return [...open, { await_id, kind: 'external_tools', run_id, calls, ...defined({ expires_at }) }];
    }
    case 'await_approval': {
      const { await_id, digest, name, expires_at } = event;
      const calls = [{ tool_call_id: event.tool_call_id ?? '', name, arguments: event.arguments }];
      const rendering = renderCall(name, event.arguments);
      return [...open, { await_id, kind: 'approval', run_id, calls, digest, rendering, ...defined({ expires_at }) }];
    }
    case 'await_resolved':
      return others(run_id, event.await_id);
    case 'child_await_changed': {
      const { link, await_id, kind, state } = event;
      const rest = others(link.run_id, await_id);
      return state === 'open' ? [...rest, { await_id, kind, run_id: link.run_id }] : rest;
    }
    default:
      return open;
  }
}

/** Without the fields that are undefined. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function updateTool(snapshot: RunSnapshot, callId: string | undefined, change: Partial<ToolSnapshot>): void {
  for (const step of snapshot.steps)
    for (const tool of step.tools) if (tool.tool_call_id === callId) Object.assign(tool, change);
}

export function addUsage(a: RunUsage, b: RunUsage): RunUsage {
  const optional = (name: 'cost_usd' | 'charged_tokens' | 'charged_cost_usd' | 'steps' | 'children') =>
    a[name] === undefined && b[name] === undefined ? {} : { [name]: (a[name] ?? 0) + (b[name] ?? 0) };
  return {
    model_calls: a.model_calls + b.model_calls,
    tool_calls: a.tool_calls + b.tool_calls,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    ...optional('cost_usd'),
    ...optional('charged_tokens'),
    ...optional('charged_cost_usd'),
    ...optional('steps'),
    ...optional('children'),
  };
}
