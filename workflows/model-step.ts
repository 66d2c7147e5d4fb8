/** One model call and what it adds to the log. */
import { ActivityCancellationType, ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { PinnedModel } from '../contract/agent-spec.js';
import type { CallModelInput, CallModelResult, ModelPass, RunActivities } from '../contract/activities.js';
import { extendDigest } from '../contract/digest.js';
import { isErrorCode } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { stepId, toolCallId, blockId } from '../contract/ids.js';
import type { AssistantMessage, ToolCall } from '../contract/messages.js';
import type { Failure } from '../contract/run.js';
import { modelChain } from '../contract/model-chain.js';
import type { ModelFallback } from '../contract/model-chain.js';
import { costOf } from '../contract/reservation.js';
import type { Reservation } from '../contract/reservation.js';
import { addUsage, NO_USAGE } from '../contract/snapshot.js';
import { affordableAttempts, plannerAllowance, reservation } from './budget.js';
import { failure, failureOf } from './run-failure.js';
import { summary } from './run-page.js';
import type { Pinned, Run, Stop } from './run-state.js';
import { settle } from './settle.js';

export interface Step {
  number: number;
  id: string;
  started_at: number;
}

export interface RequestedCall {
  tool_call_id: string;
  name: string;
  arguments: string;
  provider_meta?: unknown;
}

/** A model call is normalised into exactly one of these. */
export type Decision =
  | { kind: 'tools'; calls: RequestedCall[] }
  | { kind: 'answer'; text: string }
  | { kind: 'interrupted' }
  /** A planner asked for more than a limit leaves it. */
  | { kind: 'stopped'; stop: Stop }
  | { kind: 'failed'; failure: Failure };

export function beginStep(run: Run, title: string): Step {
  const number = ++run.counters.steps;
  const step = { number, id: stepId(number), started_at: Date.now() };
  run.log.append({ type: 'step_started', step_id: step.id, step_number: number, title });
  return step;
}

export function endStep(run: Run, step: Step, status: 'completed' | 'error'): void {
  const duration = Date.now() - step.started_at;
  run.log.append({ type: 'step_completed', step_id: step.id, status, duration_ms: duration });
}

export async function callModel(
  run: Run,
  pinned: Pinned,
  step: Step,
  pass: ModelPass,
  directive?: string,
): Promise<Decision> {
  const { spec } = pinned;
  const { model, runtime } = spec;
  const planned = spec.planner === true && pass === 'planning';
  const { stop, ...allowance } = (planned ? plannerAllowance(run) : undefined) ?? {};
  const attempts = runtime.model_max_attempts * modelChain(model).length;
  const most = affordableAttempts(run, pass, attempts, allowance);
  const { callModel: byModel, callPlanner } = proxyActivities<RunActivities>({
    startToCloseTimeout: runtime.model_timeout_ms + 30_000,
    heartbeatTimeout: runtime.heartbeat_timeout_ms,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: most, initialInterval: 500, maximumInterval: 30_000 },
    summary: summary(`${model.provider} ${model.model}, step ${step.number}, ${pass}`),
  });
  const input = nextInput(run, pinned, step, pass, directive);
  const { length } = run.log.transcript;
  const reserved = () => ({ ...reservation(run, length), ...allowance });
  const call = planned ? callPlanner : byModel;
  const settled = await settle(run, () => call(stop === undefined ? input : { ...input, allowance }));

  if (settled.state === 'done') return commit(run, step, pass, settled.value, reserved);
  const lost = attemptsOf(settled, most);
  charge(run, reserved, wasRefused(settled) ? lost - 1 : lost);
  // Whatever the lost attempts showed is void: a reader may hold text that no closing event will ever claim.
  run.log.append({
    type: 'attempt_retracted',
    step_id: step.id,
    attempt: lost,
  });
  tellFallbacks(run, step.id, detailsOf(settled)?.[2] as ModelFallback[] | undefined);
  if (settled.state === 'abandoned' || run.cancellation !== undefined || run.deadline_passed)
    return { kind: 'interrupted' };
  const why = failureOf(settled.error);
  if (stop !== undefined && why.code === 'budget_exhausted') return { kind: 'stopped', stop };
  return { kind: 'failed', failure: why };
}

/** Only what is new since the last model call, so that history grows with the conversation and not with its square. */
function nextInput(run: Run, pinned: Pinned, step: Step, pass: ModelPass, directive?: string): CallModelInput {
  const prefix = run.sent;
  const { turn } = run;
  const { thread_id } = run.handle;
  const fresh = run.log.transcript.slice(prefix.length - (turn?.length ?? 0));
  run.sent = {
    length: prefix.length + fresh.length,
    digest: fresh.reduce((digest, message) => extendDigest(digest, JSON.stringify(message)), prefix.digest),
  };
  return {
    run: run.handle,
    step_id: step.id,
    pass,
    prefix,
    new_messages: fresh,
    ...(turn === undefined || thread_id === undefined
      ? {}
      : { thread: { thread_id, length: turn.length, digest: turn.digest } }),
    spec_digest: pinned.spec_digest,
    ...(directive === undefined ? {} : { directive }),
    signal_live: pinned.spec.runtime.signal_live,
  };
}

function commit(run: Run, step: Step, pass: ModelPass, result: CallModelResult, reserved: () => Reservation): Decision {
  const { completion, attempt, interrupted } = result;
  const step_id = step.id;
  run.worked_ms += result.duration_ms;
  if (attempt > 1) run.log.append({ type: 'attempt_retracted', step_id, attempt: attempt - 1 });
  tellFallbacks(run, step_id, result.fallbacks);
  const texts: string[] = [];
  const calls: RequestedCall[] = [];
  let block = 0;
  for (const message of completion.messages) {
    const meta = message.meta as { block?: number } | undefined;
    block = meta?.block ?? block + 1;
    const block_id = blockId(step_id, block);
    if (message.role === 'reasoning') {
      const provider_meta = message.provider_meta;
      run.log.append({
        type: 'thinking_end',
        step_id,
        block_id,
        attempt,
        text: message.content,
        ...(provider_meta === undefined ? {} : { provider_meta }),
      });
    } else if (message.role === 'assistant') {
      texts.push(textOf(message));
      if (pass === 'planning' && (message.content || message.refusal)) {
        run.log.append({
          type: 'text_end',
          step_id,
          block_id,
          attempt,
          text: message.content ?? '',
          ...(message.refusal ? { refusal: message.refusal } : {}),
          ...(interrupted ? { interrupted } : {}),
          ...(message.provider_meta === undefined ? {} : { provider_meta: message.provider_meta }),
        });
      }
      for (const call of message.tool_calls ?? []) calls.push(mint(step, calls.length + 1, call));
    }
  }
  recordUsage(run, step_id, result, reserved);
  const text = texts.join('');
  if (pass === 'synthesis') return synthesized(run, step, result, text);
  if (interrupted) return { kind: 'interrupted' };
  return calls.length > 0 ? { kind: 'tools', calls } : { kind: 'answer', text };
}

/** The text of a synthesis pass is the `summary_*` block; one that was cut short is kept as text, not as the answer. */
function synthesized(run: Run, step: Step, result: CallModelResult, text: string): Decision {
  const block_id = `${step.id}.summary`;
  const { attempt, interrupted } = result;
  if (interrupted) {
    if (text !== '') run.log.append({ type: 'text_end', step_id: step.id, block_id, attempt, text, interrupted });
    return { kind: 'interrupted' };
  }
  if (text === '') {
    const debug = `the synthesis pass of ${run.handle.run_id} (${step.id}) ended without text: ${result.completion.stop_reason ?? 'no stop reason'}`;
    return { kind: 'failed', failure: failure('model_stream_empty', debug) };
  }
  run.log.append({ type: 'summary_final', step_id: step.id, text, block_id, attempt });
  return { kind: 'answer', text };
}

/** An attempt that reports no usage is charged what was reserved for it. */
function recordUsage(
  run: Run,
  step_id: string,
  { completion, attempt, profile, model_calls = 1 }: CallModelResult,
  reserved: () => Reservation,
): void {
  const { usage } = completion;
  charge(run, reserved, usage ? attempt - 1 : attempt);
  const chain = chainOf(run);
  const { price } = chain.find((model) => model.profile === profile) ?? chain[0] ?? {};
  const cost = usage ? costOf(price, usage) : 0;
  run.counters.usage = addUsage(run.counters.usage, {
    ...NO_USAGE,
    model_calls,
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    total_tokens: usage?.total_tokens ?? 0,
    ...(price === undefined ? {} : { cost_usd: cost }),
  });
  if (usage && model_calls > 0) run.log.append({ type: 'usage_recorded', step_id, usage });
}

function charge(run: Run, reserved: () => Reservation, attempts: number): void {
  if (attempts <= 0) return;
  const { tokens, cost_usd } = reserved();
  run.counters.usage = addUsage(run.counters.usage, {
    ...NO_USAGE,
    charged_tokens: tokens * attempts,
    ...(chainOf(run).some(({ price }) => price !== undefined) ? { charged_cost_usd: cost_usd * attempts } : {}),
  });
}

function chainOf(run: Run): PinnedModel[] {
  return run.pinned === undefined ? [] : modelChain(run.pinned.spec.model);
}

function tellFallbacks(run: Run, step_id: string, fallbacks: readonly ModelFallback[] = []): void {
  for (const fallback of fallbacks) run.log.append({ type: 'model_fallback', step_id, ...fallback });
}

function mint(step: Step, n: number, call: ToolCall): RequestedCall {
  return {
    tool_call_id: toolCallId(step.number, n),
    name: call.function.name,
    arguments: call.function.arguments,
    ...(call.provider_meta === undefined ? {} : { provider_meta: call.provider_meta }),
  };
}

function textOf(message: AssistantMessage): string {
  return message.content || message.refusal || '';
}

/** The vendor did not take the last attempt, so it cost nothing. */
function wasRefused(settled: { state: string; error?: unknown }): boolean {
  if (settled.state !== 'failed') return false;
  const { code } = failureOf(settled.error);
  return isErrorCode(code) && REFUSALS.has(code);
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'model_bad_request',
  'model_context_exceeded',
  'model_unauthorized',
  'model_forbidden',
  'model_not_found',
  'model_rate_limited',
  'model_overloaded',
  'invalid_config',
]);

/** How many attempts there were, where the error knows it; else all that there could have been. */
function attemptsOf(settled: { state: string; error?: unknown }, maximum: number): number {
  const attempt = detailsOf(settled)?.[1];
  return typeof attempt === 'number' ? attempt : maximum;
}

function detailsOf({ error }: { state: string; error?: unknown }): readonly unknown[] | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure ? (cause.details ?? undefined) : undefined;
}
