/**
 * Which profile answers an attempt at a model call. The first one has its attempts, then the next of its chain has as
 * many, and so on: it follows from the number of the attempt alone, so that any worker knows it, also after a crash,
 * and nothing of it is in the commands of a workflow. No zod: workflows import it.
 */
import type { ModelSpec, PinnedModel } from './agent-spec.js';

/** A change from one profile to the next, as `model_fallback` tells it. */
export interface ModelFallback {
  from: string;
  to: string;
  /** The code of the error that ended the last attempt at `from`; `worker_lost` where nobody saw its end. */
  reason: string;
  /** The first attempt at `to`. */
  attempt: number;
}

export function modelChain({ fallback = [], ...first }: ModelSpec): [PinnedModel, ...PinnedModel[]] {
  return [first, ...fallback];
}

export function modelOfAttempt(model: ModelSpec, attemptsEach: number, attempt: number): PinnedModel {
  const chain = modelChain(model);
  return chain[Math.floor((attempt - 1) / attemptsEach)] ?? (chain.at(-1) as PinnedModel);
}

/** The changes up to this attempt. `reasons` are those of the attempts before it. */
export function fallbacksOf(
  model: ModelSpec,
  attemptsEach: number,
  attempt: number,
  reasons: readonly string[],
): ModelFallback[] {
  const changes: ModelFallback[] = [];
  for (let n = attemptsEach + 1; n <= attempt; n += attemptsEach) {
    const [from, to] = [n - 1, n].map((each) => modelOfAttempt(model, attemptsEach, each).profile);
    if (from === undefined || to === undefined || from === to) break;
    changes.push({ from, to, reason: reasons[n - 2] ?? 'worker_lost', attempt: n });
  }
  return changes;
}
