/** A call that waits for people: for leave, for an answer, or for the result of a tool on the caller's side. */
import { proxyActivities } from '@temporalio/workflow';
import type { CallToolResult, RunActivities } from '../contract/activities.js';
import type { ClientToolResult } from '../contract/awaits.js';
import { INLINE_LIMIT_BYTES } from '../contract/sizes.js';
import { toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure, ToolSpec } from '../contract/tools.js';
import { askPeople } from './admit-batch.js';
import { resolved } from './awaits.js';
import type { Await } from './awaits.js';
import type { Step } from './model-step.js';
import { brokenCall } from './run-failure.js';
import type { Pinned, Run } from './run-state.js';
import { failedCall } from './run-tool.js';
import { cancellationType, settle } from './settle.js';
import { stoppedFailure } from './stopped-failure.js';
import type { BatchCall } from './tool-batch.js';

const MOST_BYTES_PER_CHARACTER = 3;

/** A call that waits for approval, for its answer, or for one after the other. */
export async function afterPeople(
  run: Run,
  pinned: Pinned,
  step: Step,
  call: BatchCall,
  tool: ToolSpec,
  make: () => Promise<CallToolResult>,
): Promise<CallToolResult> {
  if (call.approval !== undefined) {
    const denial = await approved(run, entryOf(run, call.approval));
    if (denial !== undefined) return failedCall(denial);
    // After a continue-as-new the question is there already.
    if (tool.kind === 'client' || tool.kind === 'clarification') {
      if (call.await_id === undefined) askPeople(run, pinned, step, [call], tool.kind);
    } else {
      const ids = { step_id: step.id, tool_id: tool.tool_id, tool_call_id: call.tool_call_id };
      run.log.append({ type: 'tool_scheduled', ...ids, timeout_ms: tool.timeout_ms });
    }
  }
  return call.await_id === undefined ? make() : answered(run, call, entryOf(run, call.await_id));
}

function entryOf(run: Run, awaitId: string): Await {
  const entry = run.awaits.find((candidate) => candidate.await_id === awaitId);
  if (entry === undefined) throw new Error(`there is no pause ${awaitId} in run ${run.handle.run_id}`);
  return entry;
}

async function approved(run: Run, entry: Await): Promise<ToolFailure | undefined> {
  await resolved(run, entry);
  if (entry.resolution === 'approved') return undefined;
  if (entry.resolution === 'expired') return toolFailure('expired', 'Nobody approved the call in time.');
  if (entry.resolution === 'canceled') return stoppedFailure(run);
  const note = entry.answer === undefined ? '' : ` They said: ${entry.answer}`;
  return toolFailure('denied', `A person denied this call.${note}`);
}

async function answered(run: Run, call: BatchCall, entry: Await): Promise<CallToolResult> {
  await resolved(run, entry);
  const duration = Date.now() - (entry.opened_at ?? Date.now());
  const given = entry.results[call.tool_call_id];
  if (entry.kind === 'clarification' && entry.resolution === 'answered') return said(run, entry.answer ?? '', duration);
  if (given !== undefined) return fromClient(run, given, duration);
  if (entry.resolution === 'expired') {
    const whom = entry.kind === 'clarification' ? 'The user did not answer' : 'The caller did not give a result';
    return failedCall(toolFailure('expired', `${whom} in time.`), duration);
  }
  return failedCall(stoppedFailure(run), duration);
}

/** What a person or the caller gave, trimmed like any tool's output if it is large. */
async function said(run: Run, text: string, duration_ms: number, value?: unknown): Promise<CallToolResult> {
  const rest = { duration_ms, attempts: 1, progress: [], retries: [] };
  if (text.length <= INLINE_LIMIT_BYTES / MOST_BYTES_PER_CHARACTER)
    return { content: text, ...(value === undefined ? {} : { value }), ...rest };
  const { keepOutput } = proxyActivities<RunActivities>({
    startToCloseTimeout: 30_000,
    heartbeatTimeout: 10_000,
    cancellationType: cancellationType(run),
    retry: { maximumAttempts: 3 },
    summary: 'keep a large answer',
  });
  const json = value === undefined ? {} : { is_json: true as const };
  const settled = await settle(run, () => keepOutput({ run: run.handle, text, ...json }));
  if (settled.state === 'done') return { ...settled.value, ...rest };
  const stopped = run.cancellation !== undefined || run.deadline_passed || settled.state === 'abandoned';
  if (stopped) return failedCall(stoppedFailure(run), duration_ms);
  const { failure, debug_message } = brokenCall('To keep a large answer', settled.error);
  return failedCall(failure, duration_ms, debug_message);
}

async function fromClient(
  run: Run,
  { status, output, runtime_ms }: ClientToolResult,
  waited: number,
): Promise<CallToolResult> {
  const text = output === undefined ? '' : typeof output === 'string' ? output : JSON.stringify(output);
  const duration = runtime_ms === undefined ? waited : Math.round(runtime_ms);
  if (status === 'success') return said(run, text, duration, typeof output === 'string' ? undefined : output);
  const kind = status === 'declined' ? 'denied' : 'internal';
  return failedCall(
    toolFailure(
      kind,
      text.trim() === ''
        ? `The caller ${status === 'declined' ? 'declined the call' : 'reported an error'}.`
        : text.slice(0, INLINE_LIMIT_BYTES / MOST_BYTES_PER_CHARACTER),
    ),
    duration,
  );
}
