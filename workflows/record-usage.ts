/** What model calls used, and what limits are charged for attempts of which nobody knows it. */
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { PinnedModel } from '../contract/agent-spec.js';
import type { ChatInvokeUsage } from '../contract/completion.js';
import { isErrorCode } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { modelChain } from '../contract/model-chain.js';
import type { ModelFallback } from '../contract/model-chain.js';
import { costOf } from '../contract/reservation.js';
import type { Reservation } from '../contract/reservation.js';
import { addUsage, NO_USAGE } from '../contract/snapshot.js';
import { failureOf } from './run-failure.js';
import type { Run } from './run-state.js';

interface Used {
  usage: ChatInvokeUsage | null | undefined;
  /** Of the activity, with the one that won. */
  attempts: number;
  model_calls: number;
  /** Which of the chain answered; absent: the run's own. */
  profile?: string | undefined;
  stop_reason?: string | undefined;
}

/** An attempt that reports no usage is charged what was reserved for it. */
export function recordUsage(run: Run, step_id: string, used: Used, reserved: () => Reservation): void {
  const { usage, attempts, model_calls } = used;
  charge(run, reserved, usage ? attempts - 1 : attempts);
  const chain = chainOf(run);
  const { price } = chain.find((model) => model.profile === used.profile) ?? chain[0] ?? {};
  const cost = usage ? costOf(price, usage) : 0;
  run.counters.usage = addUsage(run.counters.usage, {
    ...NO_USAGE,
    model_calls,
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    total_tokens: usage?.total_tokens ?? 0,
    ...(price === undefined ? {} : { cost_usd: cost }),
  });
  const { stop_reason } = used;
  const why = stop_reason === undefined ? {} : { stop_reason };
  if (usage && model_calls > 0) run.log.append({ type: 'usage_recorded', step_id, usage, ...why });
}

/** Of a call that came to nothing: how many attempts it had. */
export function chargeLost(
  run: Run,
  settled: { state: string; error?: unknown },
  most: number,
  reserved: () => Reservation,
): number {
  const attempts = attemptsOf(settled, most);
  charge(run, reserved, wasRefused(settled) ? attempts - 1 : attempts);
  return attempts;
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

/** Of a call that came to nothing: the changes of the model profile that its last attempt knew of. */
export function fallbacksBefore(settled: { state: string; error?: unknown }): ModelFallback[] | undefined {
  return detailsOf(settled)?.[2] as ModelFallback[] | undefined;
}

export function tellFallbacks(run: Run, step_id: string, fallbacks: readonly ModelFallback[] = []): void {
  for (const fallback of fallbacks) run.log.append({ type: 'model_fallback', step_id, ...fallback });
}

function detailsOf({ error }: { state: string; error?: unknown }): readonly unknown[] | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure ? (cause.details ?? undefined) : undefined;
}

function chainOf(run: Run): PinnedModel[] {
  return run.pinned === undefined ? [] : modelChain(run.pinned.spec.model);
}
