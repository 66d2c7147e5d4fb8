/** One model call and what it adds to the log. */
import { ActivityCancellationType, patched, proxyActivities } from '@temporalio/workflow';
import type {
  CallModelInput,
  CallModelResult,
  ContextInput,
  ModelPass,
  RunActivities,
} from '../contract/activities.js';
import { extendDigest } from '../contract/digest.js';
import { stepId, toolCallId, blockId } from '../contract/ids.js';
import type { AssistantMessage, ToolCall } from '../contract/messages.js';
import { modelChain } from '../contract/model-chain.js';
import { callerOf } from '../contract/principal.js';
import type { Failure } from '../contract/run.js';
import type { Reservation } from '../contract/reservation.js';
import { childrenOf } from '../contract/snapshot.js';
import { summaryLine } from '../contract/ui-markdown.js';
import { affordableAttempts, plannerAllowance, reservation } from './budget.js';
import { compactContext, isTooLong } from './compact-context.js';
import { COMPACT_REFUSED } from './patches.js';
import { chargeLost, fallbacksBefore, recordUsage, tellFallbacks } from './record-usage.js';
import { cutFailure, isCut } from './cut-answer.js';
import { failure, failureOf } from './run-failure.js';
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
  | { kind: 'answer'; text: string; stop_reason?: string }
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
  continues = false,
): Promise<Decision> {
  const isLong = isTooLong(run);
  const compacted = isLong ? await compactContext(run, pass, contextOf(run, pinned, step), 'window') : 'unchanged';
  if (compacted === 'interrupted') return { kind: 'interrupted' };
  return ask(run, pinned, step, { pass, directive, continues, before: 0, mayCompact: compacted !== 'compacted' });
}

interface Asking {
  pass: ModelPass;
  directive: string | undefined;
  /** It goes on with the answer of the step before. */
  continues: boolean;
  /** Attempts that the step has had already. */
  before: number;
  mayCompact: boolean;
}

async function ask(run: Run, pinned: Pinned, step: Step, asking: Asking): Promise<Decision> {
  const { pass, directive, continues, before, mayCompact } = asking;
  const { spec } = pinned;
  const { model, runtime } = spec;
  const planned = spec.planner === true && pass === 'planning' && !continues;
  const { stop, ...allowance } = (planned ? plannerAllowance(run) : undefined) ?? {};
  const attempts = runtime.model_max_attempts * modelChain(model).length;
  const most = affordableAttempts(run, pass, attempts, allowance);
  const { callModel: byModel, callPlanner } = proxyActivities<RunActivities>({
    startToCloseTimeout: runtime.model_timeout_ms + 30_000,
    heartbeatTimeout: runtime.heartbeat_timeout_ms,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: most, initialInterval: 500, maximumInterval: 30_000 },
    summary: summaryLine(`${model.provider} ${model.model}, step ${step.number}, ${pass}`),
  });
  const context = contextOf(run, pinned, step);
  run.sent = sentWith(context, run.log.transcript.length);
  const input: CallModelInput = {
    ...context,
    pass,
    ...(directive === undefined ? {} : { directive }),
    ...(continues ? { continues } : {}),
    ...(before === 0 ? {} : { attempts_before: before }),
    signal_live: runtime.signal_live,
    ...(planned ? { caller: callerOf(pinned.request), ...childrenFor(run) } : {}),
  };
  const { length } = run.log.transcript;
  const reserved = () => ({ ...reservation(run, length), ...allowance });
  const call = planned ? callPlanner : byModel;
  const settled = await settle(run, () => call(stop === undefined ? input : { ...input, allowance }));

  if (settled.state === 'done') return commit(run, step, asking, settled.value, reserved);
  const lost = before + chargeLost(run, settled, most, reserved);
  tellFallbacks(run, step.id, fallbacksBefore(settled));
  // The synthesis pass is what the deadline leads to: it does not stop it.
  const isOver = run.deadline_passed && (pass === 'planning' || pinned.revision === undefined);
  const isStopped = settled.state === 'abandoned' || run.cancellation !== undefined || isOver;
  const why = settled.state === 'failed' ? failureOf(settled.error) : undefined;
  if (!isStopped && mayCompact && why?.code === 'model_context_exceeded' && patched(COMPACT_REFUSED)) {
    const compacted = await compactContext(run, pass, contextOf(run, pinned, step), 'refused');
    if (compacted === 'compacted') return ask(run, pinned, step, { ...asking, before: lost, mayCompact: false });
  }
  // Whatever the lost attempts showed is void: a reader may hold text that no closing event will ever claim.
  run.log.append({
    type: 'attempt_retracted',
    step_id: step.id,
    attempt: lost,
  });
  if (why === undefined || isStopped) return { kind: 'interrupted' };
  if (stop !== undefined && why.code === 'budget_exhausted') return { kind: 'stopped', stop };
  return { kind: 'failed', failure: why };
}

function childrenFor({ log }: Run): Pick<CallModelInput, 'children'> {
  const children = childrenOf(log.events);
  return children.length === 0 ? {} : { children };
}

/** Only what is new since the last model call, so that history grows with the conversation and not with its square. */
function contextOf(run: Run, pinned: Pinned, step: Step): ContextInput {
  const { turn } = run;
  const { thread_id } = run.handle;
  const { length, digest, own } = run.sent;
  const { thread_messages, run_messages } = run.compacted ?? {};
  return {
    run: run.handle,
    step_id: step.id,
    prefix: { length, digest },
    new_messages: run.log.transcript.slice(own),
    ...(turn === undefined || thread_id === undefined
      ? {}
      : { thread: { thread_id, length: turn.length, digest: turn.digest } }),
    ...(thread_messages === undefined || run_messages === undefined
      ? {}
      : { compacted: { thread_messages, run_messages } }),
    spec_digest: pinned.spec_digest,
  };
}

/** What the model has been given when it was given this, which is all of the run's own messages. */
function sentWith({ prefix, new_messages }: ContextInput, own: number): Run['sent'] {
  const digest = new_messages.reduce((sum, message) => extendDigest(sum, JSON.stringify(message)), prefix.digest);
  return { length: prefix.length + new_messages.length, digest, own };
}

function commit(
  run: Run,
  step: Step,
  { pass, before, continues }: Asking,
  result: CallModelResult,
  reserved: () => Reservation,
): Decision {
  const { completion, attempt, interrupted } = result;
  const step_id = step.id;
  run.worked_ms += result.duration_ms;
  if (attempt > 1) run.log.append({ type: 'attempt_retracted', step_id, attempt: attempt - 1 });
  tellFallbacks(run, step_id, result.fallbacks);
  const texts: string[] = [];
  const calls: RequestedCall[] = [];
  let block = 0;
  for (const message of completion.messages) {
    const meta = message.meta as { block?: number; interrupted?: boolean } | undefined;
    const brokeOff = interrupted || meta?.interrupted === true;
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
          // A refusal was shown as text, piece by piece.
          text: textOf(message),
          ...(message.refusal ? { refusal: message.refusal } : {}),
          ...(brokeOff ? { interrupted: true } : {}),
          ...(continues ? { continues } : {}),
          ...(message.provider_meta === undefined ? {} : { provider_meta: message.provider_meta }),
        });
      }
      for (const call of message.tool_calls ?? []) calls.push(mint(step, calls.length + 1, call));
    }
  }
  const { model_calls = 1, profile } = result;
  const why = stopReasonOf(completion);
  const used = { usage: completion.usage, attempts: attempt - before, model_calls, profile, ...why };
  recordUsage(run, step_id, used, reserved);
  const text = result.answer ?? texts.join('');
  if (pass === 'synthesis') return synthesized(run, step, result, text);
  if (interrupted) return { kind: 'interrupted' };
  return calls.length > 0 && !continues ? { kind: 'tools', calls } : { kind: 'answer', text, ...why };
}

/** The vendor's, in our words; a planner's decision has none. */
function stopReasonOf({ stop_reason }: CallModelResult['completion']): { stop_reason?: string } {
  return stop_reason == null || stop_reason === 'planner' ? {} : { stop_reason };
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
  const why = stopReasonOf(result.completion);
  if (isCut(why) && run.pinned?.spec.on_cut_answer === 'fail') {
    run.log.append({ type: 'text_end', step_id: step.id, block_id, attempt, text, interrupted: true });
    return { kind: 'failed', failure: cutFailure(run, step) };
  }
  run.log.append({ type: 'summary_final', step_id: step.id, text, block_id, attempt });
  return { kind: 'answer', text, ...why };
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
