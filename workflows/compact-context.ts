/**
 * Before a conversation is too long for its model: the oldest messages go behind a summary, which is in the log.
 *
 * N1  One event for each summary, when it is there: an attempt that is lost leaves nothing.
 * N2  It is paid for like any model call, and never from what is held back for the call it is for.
 * N3  Where it fails or cannot be afforded, the call is made as it is: our estimate may be wrong, and the vendor knows.
 */
import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { ContextInput, ModelPass, RunActivities } from '../contract/activities.js';
import type { Compacted } from '../contract/compaction.js';
import type { EventOf } from '../contract/events.js';
import { modelChain } from '../contract/model-chain.js';
import { estimateTokens } from '../contract/reservation.js';
import { summaryLine } from '../contract/ui-markdown.js';
import { affordableCompactions, reservation, tokensOfCall } from './budget.js';
import { chargeLost, fallbacksBefore, recordUsage, tellFallbacks } from './record-usage.js';
import type { Run } from './run-state.js';
import { settle } from './settle.js';

/** A long conversation is summarized in several questions. */
const MOST_QUESTIONS = 4;

/** By estimate, the next call and its answer do not fit in the model's window. */
export function isTooLong(run: Run): boolean {
  const window = run.pinned?.spec.model.context_tokens;
  return window !== undefined && tokensOfCall(run) > window;
}

/** `input` is the conversation so far. `interrupted`: somebody wants the run to stop. */
export async function compactContext(
  run: Run,
  pass: ModelPass,
  input: ContextInput,
  reason: EventOf<'context_compacted'>['reason'],
): Promise<'compacted' | 'unchanged' | 'interrupted'> {
  const { step_id } = input;
  const spec = run.pinned?.spec;
  if (spec === undefined) return 'unchanged';
  const { model, runtime } = spec;
  const most = affordableCompactions(run, pass, runtime.model_max_attempts * modelChain(model).length);
  if (most === 0) return 'unchanged';
  const { compactContext: compact } = proxyActivities<RunActivities>({
    startToCloseTimeout: runtime.model_timeout_ms * MOST_QUESTIONS + 30_000,
    heartbeatTimeout: runtime.heartbeat_timeout_ms,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: most, initialInterval: 500, maximumInterval: 30_000 },
    summary: summaryLine(`${model.provider} ${model.model}, ${step_id}, compact the conversation`),
  });
  const { length } = run.log.transcript;
  const reserve = reservation(run);
  const settled = await settle(run, () => compact(reason === 'refused' ? { ...input, refused: true } : input));
  if (settled.state !== 'done') {
    chargeLost(run, settled, most, () => reserve);
    tellFallbacks(run, step_id, fallbacksBefore(settled));
    const isStopped = run.cancellation !== undefined || (run.deadline_passed && pass === 'planning');
    return settled.state === 'abandoned' || isStopped ? 'interrupted' : 'unchanged';
  }
  const { compacted, attempt, duration_ms, fallbacks, ...used } = settled.value;
  run.worked_ms += duration_ms;
  tellFallbacks(run, step_id, fallbacks);
  recordUsage(run, step_id, { ...used, attempts: attempt }, () => reserve);
  if (compacted === undefined) return 'unchanged';
  const { prefix, characters, ...told } = compacted;
  run.sent = { ...prefix, own: length };
  const { thread_messages, run_messages } = told;
  run.compacted = { thread_messages, run_messages, characters: characters.after, own: length };
  run.log.append({
    type: 'context_compacted',
    step_id,
    ...told,
    reason,
    tokens_before: estimateTokens(characters.before),
    tokens_after: estimateTokens(characters.after),
  });
  return 'compacted';
}

/** What is behind the last summary, and that itself. */
export function lastCompaction({ log }: Run): (Compacted & { summary: string }) | undefined {
  return log.events.findLast((event) => event.type === 'context_compacted');
}
