/**
 * Heartbeats for as long as a call runs: they show that the worker lives, and bring the news of a cancel. Each is a write
 * in Temporal's database, so they are rare where cancels come by the channel.
 *
 * B1  What comes by the channel is a hint. The server is asked at once, and only its word cancels the call: a hint that is
 *     old, or for a cancel that the run refused, does nothing.
 * B2  When the channel is away, heartbeats are frequent again.
 */
import { CancelledFailure } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import type { CallBoard } from '../live/call-board.js';

const FREQUENT_MS = 400;
const RARE_MS = 5_000;
/** The cancel of a run reaches what is below it step by step: the server is asked for some time. */
const ASKED_AFTER_MS = [0, 25, 50, 100, 200, 400, 800, 1_600];

export interface Heartbeat {
  /** Aborts when the call is canceled, and when its worker goes away. */
  readonly signal: AbortSignal;
  /** Which of the two it was. */
  isCanceled(): boolean;
  /** Kept by the server for the next attempt, beside what was noted before. */
  note(details: object): void;
  stop(): void;
}

export function startHeartbeat(context: Context, calls: CallBoard): Heartbeat {
  const { info, cancellationSignal } = context;
  const heard = new AbortController();
  const rare = Math.min(RARE_MS, (info.heartbeatTimeoutMs ?? RARE_MS) / 2);
  let details = (info.heartbeatDetails ?? undefined) as object | undefined;
  let beatAt = Date.now();
  let isOver = false;
  let isAsking = false;
  let didHear = calls.hearsCancels();

  const beat = () => {
    beatAt = Date.now();
    context.heartbeat(details);
  };
  const timer = setInterval(() => {
    const hears = calls.hearsCancels();
    // The first time that it hears again, a cancel may have come just before.
    if (!hears || !didHear || Date.now() - beatAt >= rare - FREQUENT_MS) beat();
    didHear = hears;
  }, FREQUENT_MS);
  const takeOff = calls.put(toCall(context), () => void ask());

  /** B1. */
  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    for (const wait of ASKED_AFTER_MS) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (isOver || cancellationSignal.aborted || (await isCanceledByServer())) break;
    }
    isAsking = false;
  }

  async function isCanceledByServer(): Promise<boolean> {
    try {
      await context.client.activity.heartbeat(info.taskToken, details);
    } catch (error) {
      const { name } = error as Error;
      if (name === 'ActivityCancelledError') heard.abort(new CancelledFailure('CANCELLED'));
      // This attempt is over for the server; its own heartbeat will say so.
      return name === 'ActivityCancelledError' || name === 'ActivityNotFoundError';
    }
    return false;
  }

  return {
    signal: AbortSignal.any([cancellationSignal, heard.signal]),
    isCanceled: () => heard.signal.aborted || context.cancellationDetails?.cancelRequested === true,
    note(next) {
      details = { ...details, ...next };
      beat();
    },
    stop() {
      isOver = true;
      clearInterval(timer);
      takeOff();
    },
  };
}

function toCall({ info }: Context) {
  const { workflowExecution, activityId, attempt, retryPolicy } = info;
  const most = retryPolicy?.maximumAttempts ?? 0;
  return {
    workflowId: workflowExecution?.workflowId ?? '',
    runId: workflowExecution?.runId ?? '',
    activityId,
    attempt,
    isLast: most > 0 && attempt >= most,
  };
}
