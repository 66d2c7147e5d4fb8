/**
 * The attempts at one model call, as the one that runs now sees them: why those before it were given up, and which
 * profile of the chain it is to ask. What it notes is kept by the server for the next one.
 */
import type { Context } from '@temporalio/activity';
import type { CallModelResult } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { isPerdureError } from '../contract/errors.js';
import { fallbacksOf, modelChain, modelOfAttempt } from '../contract/model-chain.js';
import { toApplicationFailure } from './classify-failure.js';
import type { Heartbeat } from './heartbeat.js';
import { isUnexpected } from './thrown.js';

/** Of an attempt whose worker died, or went away. */
const WORKER_LOST = 'worker_lost';
/** Another vendor has no reason to wait for. */
const AT_ONCE_MS = 1;

export interface ModelAttempts {
  /** The pinned agent with the model that this attempt asks. */
  pin(spec: AgentSpec): AgentSpec;
  /** Nobody is asked after the one that this attempt asks. */
  isLastProfile(): boolean;
  /** What the workflow is told of it. */
  report(): Pick<CallModelResult, 'attempt' | 'profile' | 'fallbacks'>;
  /** The error as it leaves the activity. */
  failed(error: unknown): unknown;
}

/** `before`: attempts that the step has had in earlier calls; the chain begins anew with each. `where` begins the message of an error, and `threw` hears of one that nobody meant. */
export function openAttempts(
  context: Context,
  heartbeat: Heartbeat,
  before: number,
  where: string,
  threw: (error: unknown) => void,
): ModelAttempts {
  const { attempt } = context.info;
  const reasons = earlierReasons(context);
  let spec: AgentSpec | undefined;
  const profileOf = (pinned: AgentSpec, n: number) =>
    modelOfAttempt(pinned.model, pinned.runtime.model_max_attempts, n);
  const fallbacks = () =>
    (spec === undefined ? [] : fallbacksOf(spec.model, spec.runtime.model_max_attempts, attempt, reasons)).map(
      (change) => ({ ...change, attempt: before + change.attempt }),
    );
  return {
    pin(pinned) {
      spec = pinned;
      return { ...pinned, model: profileOf(pinned, attempt) };
    },
    isLastProfile() {
      return spec === undefined || profileOf(spec, attempt).profile === modelChain(spec.model).at(-1)?.profile;
    },
    report() {
      const changes = fallbacks();
      return {
        attempt: before + attempt,
        ...(spec === undefined || changes.length === 0
          ? {}
          : { profile: profileOf(spec, attempt).profile, fallbacks: changes }),
      };
    },
    failed(error) {
      if (error instanceof Error && (error.name === 'ApplicationFailure' || error.name === 'CancelledFailure'))
        return error;
      if (isUnexpected(error)) threw(error);
      const code = isPerdureError(error) && error.code !== 'server_unreachable' ? error.code : WORKER_LOST;
      heartbeat.note({ reasons: [...reasons, code] });
      const changes = spec !== undefined && profileOf(spec, attempt).profile !== profileOf(spec, attempt + 1).profile;
      const told = fallbacks();
      return toApplicationFailure(error, where, attempt, {
        ...(told.length === 0 ? {} : { fallbacks: told }),
        ...(changes ? { next_attempt_in_ms: AT_ONCE_MS } : {}),
      });
    },
  };
}

function earlierReasons({ info: { attempt, heartbeatDetails } }: Context): string[] {
  const noted = ((heartbeatDetails as { reasons?: string[] } | undefined)?.reasons ?? []).slice(0, attempt - 1);
  return [...noted, ...Array.from({ length: attempt - 1 - noted.length }, () => WORKER_LOST)];
}
