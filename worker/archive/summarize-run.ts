/** What lists, searches and sums say of a run that is over: a projection of its log, and of what the server knows. */
import type { DurableEvent, EventOf } from '../../contract/events.js';
import { projectSnapshot } from '../../contract/snapshot.js';
import type { RunHandle, RunInput } from '../../contract/run.js';
import { threadOfRun } from '../../contract/thread-ids.js';
import type { ArchivedRun, RunSummary, ToolUse } from '../../store/archive/archived-run.js';

/** What is not in the log. */
export interface KnownOfRun {
  run_id: string;
  agent_id?: string;
  org_id?: string;
  created_by?: string;
  request_digest?: string;
  /** As the server names it. */
  engine_status: string;
  /** Of the workflow, for a run that could write nothing. */
  started_at: string;
  ended_at: string;
}

const ENGINE_ENDS: Record<string, RunSummary['status']> = { TERMINATED: 'terminated', TIMED_OUT: 'timed_out' };

export function summarizeRun(known: KnownOfRun, events: readonly DurableEvent[]): Omit<ArchivedRun, 'tail'> {
  const snapshot = projectSnapshot(events);
  const last = events.at(-1);
  const end = last?.type === 'run_completed' ? last : undefined;
  const { usage } = end ?? snapshot ?? { usage: { tool_calls: 0, input_tokens: 0, output_tokens: 0 } };
  const { org_id, created_by, request_digest } = known;
  const handle: RunHandle = snapshot?.run ?? {
    run_id: known.run_id,
    agent_id: known.agent_id ?? '',
    ...placeOf(known.run_id),
  };
  const model = events.findLast((event) => event.type === 'usage_recorded')?.usage.model;
  const failure_code = end?.status === 'failed' ? end.failure.code : undefined;
  const cost_usd = 'cost_usd' in usage ? usage.cost_usd : undefined;
  return {
    run_id: known.run_id,
    agent_id: handle.agent_id,
    root_run_id: handle.root_run_id,
    ...defined({
      parent_run_id: handle.parent_run_id,
      thread_id: handle.thread_id,
      org_id,
      created_by,
      request_digest,
      cost_usd,
      model,
      failure_code,
      answer: end?.status === 'success' ? end.answer : undefined,
    }),
    status: end?.status ?? ENGINE_ENDS[known.engine_status] ?? 'engine_failed',
    phase: snapshot?.phase ?? 'prompted',
    started_at: snapshot?.started_at ?? known.started_at,
    ended_at: known.ended_at,
    steps: snapshot?.steps.length ?? 0,
    tool_calls: usage.tool_calls,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    input: inputOf(events.find((event) => event.type === 'run_started')),
    engine_status: known.engine_status,
    tools: toolsOf(events),
  };
}

function toolsOf(events: readonly DurableEvent[]): ToolUse[] {
  const uses = new Map<string, ToolUse>();
  for (const event of events) {
    if (event.type !== 'tool_result' || event.tool_id === undefined) continue;
    const use = uses.get(event.tool_id) ?? { tool_id: event.tool_id, count: 0, failures: 0 };
    use.count += 1;
    if (event.status === 'error') use.failures += 1;
    uses.set(event.tool_id, use);
  }
  return [...uses.values()];
}

function inputOf(started: EventOf<'run_started'> | undefined): string {
  const input: RunInput = started?.input ?? '';
  if (typeof input === 'string') return input;
  return input.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** The ids tell the tree and the thread: `contract/ids.ts`, `contract/thread-ids.ts`. */
function placeOf(runId: string): Pick<RunHandle, 'root_run_id' | 'parent_run_id' | 'thread_id'> {
  const thread_id = threadOfRun(runId);
  const path = runId.split('/');
  const root = path.slice(0, thread_id === undefined ? 1 : 2).join('/');
  const parent = runId === root ? undefined : path.slice(0, -1).join('/');
  return { root_run_id: root, ...defined({ parent_run_id: parent, thread_id }) };
}

function defined<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
