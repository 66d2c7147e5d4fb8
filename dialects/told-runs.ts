/**
 * A run told in a dialect, as an iterator: what the SDKs give that the dialects come from. It is started here, or there
 * already. How it is told is the client's: over Temporal it tells the events itself, over HTTP the gateway does.
 */
import type { AgentEvent } from '../contract/agent-events.js';
import { isErrorCode, PerdureError } from '../contract/errors.js';
import type { StreamMarker } from '../contract/live-events.js';
import type { Cancellation, Failure } from '../contract/run.js';
import type { TaskStepChunk } from '../contract/task-steps.js';
import type { ContractLine } from './event-contract/shapes.js';

/** An object of the event contract. */
export type ContractEvent = ContractLine;

export interface ToldRun<E> extends AsyncIterableIterator<E> {
  /** Which run it is; rejected where it could not be started. */
  readonly run: Promise<{ run_id: string }>;
}

export interface TellOptions {
  /** What the dialect has no words for: a pause, with the id that an answer needs, or text that is missing or void. */
  onWarning?(message: string, runId: string): void;
}

/** The three, each in one call: with a run's id, or with the request that starts it. */
export interface ToldRuns<Request, Options, More = unknown> {
  /**
   * The eight agent events, up to `final`. Throws at the end of a run that failed or was canceled, for which they have
   * no words.
   */
  runStream(run: string | Request, options?: Options & TellOptions): ToldRun<AgentEvent> & More;
  /** Objects of the event contract, up to `status: complete` or `error`. */
  contractStream(run: string | Request, options?: Options & TellOptions): ToldRun<ContractEvent> & More;
  /** The chunks of the step stream. Throws as `runStream` does. */
  stepStream(run: string | Request, options?: Options & TellOptions): ToldRun<TaskStepChunk> & More;
}

export interface ToldDialect {
  name: 'agent_events' | 'event_contract' | 'task_steps';
  /** Where it does not, the iteration throws. */
  saysBadEnds: boolean;
}

export function createToldRuns<Request, Options, More>(
  tell: (dialect: ToldDialect, run: string | Request, options: Options & TellOptions) => ToldRun<unknown> & More,
): ToldRuns<Request, Options, More> {
  // A line of a dialect is what its seed says; only the dialects themselves know which.
  const told =
    <E>(name: ToldDialect['name'], saysBadEnds: boolean) =>
    (run: string | Request, options = {} as Options & TellOptions) =>
      tell({ name, saysBadEnds }, run, options) as unknown as ToldRun<E> & More;
  return {
    runStream: told<AgentEvent>('agent_events', false),
    contractStream: told<ContractEvent>('event_contract', true),
    stepStream: told<TaskStepChunk>('task_steps', false),
  };
}

/** How a run ended that did not succeed: what the iteration throws. */
export function badEndOf(runId: string, end: { failure?: Failure; cancellation?: Cancellation }): PerdureError {
  if (end.failure !== undefined) {
    const { code, message } = end.failure;
    return new PerdureError(isErrorCode(code) ? code : 'internal', `run ${runId} failed: ${message}`);
  }
  const { reason, note } = end.cancellation ?? { reason: 'engine' };
  const why = note === undefined ? reason : `${reason}, ${note}`;
  return new PerdureError('run_ended', `run ${runId} was canceled (${why})`);
}

/** The same, where the engine ended it. */
export function engineEndOf({
  reason,
  message,
}: Pick<Extract<StreamMarker, { type: 'stream_ended' }>, 'reason' | 'message'>): PerdureError {
  return new PerdureError(reason === 'not_found' ? 'unknown_run' : 'run_ended', message);
}
