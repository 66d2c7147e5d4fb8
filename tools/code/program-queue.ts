/** How many programs a worker runs at the same time, and how these are shared out among orgs. */
import { availableParallelism } from 'node:os';
import { PerdureError } from '../../contract/errors.js';
import { createFairQueue } from '../fair-queue.js';
import type { FairQueue } from '../fair-queue.js';

export interface ProgramQueueOptions {
  /** Programs at the same time on a worker; by default one for each core, and two at least. */
  max_programs?: number;
  /** Those of one org; half of them by default. Without an org, those of one run tree. */
  max_programs_per_org?: number;
  /** So many programs of one org may wait; 20 by default. One more is `rate_limited`. */
  max_waiting_per_org?: number;
}

/** Nobody waits longer: the call is `rate_limited` then. */
export const QUEUE_MS = 60_000;

export function createProgramQueue(options: ProgramQueueOptions): FairQueue {
  const problems: string[] = [];
  const count = (field: keyof ProgramQueueOptions, fallback: number, least: number): number => {
    const value = options[field] ?? fallback;
    if (!Number.isSafeInteger(value) || value < least)
      problems.push(`${field} ${value} is no whole number of at least ${least}`);
    return value;
  };
  const at_once = count('max_programs', Math.max(2, availableParallelism()), 1);
  const per_group = count('max_programs_per_org', Math.ceil(at_once / 2), 1);
  const most_waiting = count('max_waiting_per_org', 20, 0);
  if (problems.length > 0) throw new PerdureError('invalid_config', `codeInterpreter(): ${problems.join('; ')}`);
  return createFairQueue({ what: 'programs', at_once, per_group, most_waiting, wait_ms: QUEUE_MS });
}
