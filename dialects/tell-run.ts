/**
 * A run told in a dialect, as an iterator: what the SDKs give that the dialects come from. It is started here, or there
 * already.
 */
import type { AgentEvent } from '../contract/agent-events.js';
import { isErrorCode, PerdureError } from '../contract/errors.js';
import type { StreamEvent } from '../contract/live-events.js';
import type { TaskStepChunk } from '../contract/task-steps.js';
import { agentEvents } from './agent-events/agent-events.js';
import type { Dialect } from './dialect.js';
import { eventContract } from './event-contract/event-contract.js';
import type { ContractLine } from './event-contract/shapes.js';
import { taskSteps } from './task-steps/task-steps.js';

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

/** How the client that tells it starts runs and reads their events. */
export interface RunSource<Request, Options> {
  start(request: Request): Promise<{ run_id: string }>;
  stream(runId: string, options: Options): AsyncIterable<StreamEvent>;
}

/** The three, each in one call: with a run's id, or with the request that starts it. */
export interface ToldRuns<Request, Options> {
  /**
   * The eight agent events, up to `final`. Throws at the end of a run that failed or was canceled, for which they have
   * no words.
   */
  runStream(run: string | Request, options?: Options & TellOptions): ToldRun<AgentEvent>;
  /** Objects of the event contract, up to `status: complete` or `error`. */
  contractStream(run: string | Request, options?: Options & TellOptions): ToldRun<ContractEvent>;
  /** The chunks of the step stream. Throws as `runStream` does. */
  stepStream(run: string | Request, options?: Options & TellOptions): ToldRun<TaskStepChunk>;
}

export function createToldRuns<Request extends object, Options extends object>(
  source: RunSource<Request, Options>,
): ToldRuns<Request, Options> {
  // A line of a dialect is what its seed says; only the dialects themselves know which.
  const tell =
    <E, State>(dialect: Dialect<State>, sayBadEnds: boolean) =>
    (run: string | Request, options?: Options & TellOptions) =>
      tellRun(source, dialect, sayBadEnds, run, options ?? ({} as Options & TellOptions)) as unknown as ToldRun<E>;
  return {
    runStream: tell<AgentEvent, unknown>(agentEvents as Dialect<unknown>, false),
    contractStream: tell<ContractEvent, unknown>(eventContract as Dialect<unknown>, true),
    stepStream: tell<TaskStepChunk, unknown>(taskSteps as Dialect<unknown>, false),
  };
}

function tellRun<Request extends object, Options extends object>(
  source: RunSource<Request, Options>,
  dialect: Dialect<unknown>,
  saysBadEnds: boolean,
  run: string | Request,
  { onWarning, ...options }: Options & TellOptions,
): ToldRun<unknown> {
  const started = typeof run === 'string' ? Promise.resolve({ run_id: run }) : source.start(run);
  // Whoever iterates is told; nobody has to ask which run it is.
  started.catch(() => {});

  async function* tell(): AsyncGenerator<unknown, undefined> {
    const { run_id: root } = await started;
    const states = new Map<string, unknown>();
    const begin = (runId: string) => dialect.begin({ commit: false, nested: runId !== root, clock: () => Date.now() });
    for await (const event of source.stream(root, options as unknown as Options)) {
      const { run_id } = event;
      // A dialect tells what is missing of a text with the event that closes it, under that event's time.
      if ('live_id' in event && !('seq' in event) && event.live_id.endsWith('.rest')) continue;
      const { state, lines, warnings } = dialect.tell(states.get(run_id) ?? begin(run_id), event);
      states.set(run_id, state);
      for (const { data } of lines) yield data;
      const wrong = run_id === root ? badEnd(event, saysBadEnds) : undefined;
      if (wrong !== undefined) throw wrong;
      for (const message of warnings) onWarning?.(message, run_id);
    }
    return undefined;
  }

  const told = tell();
  return Object.assign(told, { run: started });
}

/** What would otherwise look like an end that is none, or like a success. */
function badEnd(event: StreamEvent, isSaid: boolean): PerdureError | undefined {
  if (event.type === 'stream_failed')
    return new PerdureError(isErrorCode(event.code) ? event.code : 'internal', event.message);
  if (isSaid) return undefined;
  if (event.type === 'stream_ended')
    return new PerdureError(event.reason === 'not_found' ? 'unknown_run' : 'run_ended', event.message);
  if (event.type !== 'run_completed' || event.status === 'success') return undefined;
  if (event.status === 'failed') {
    const { code, message } = event.failure;
    return new PerdureError(isErrorCode(code) ? code : 'internal', `run ${event.run_id} failed: ${message}`);
  }
  const { reason, note } = event.cancellation;
  const why = note === undefined ? reason : `${reason}, ${note}`;
  return new PerdureError('run_ended', `run ${event.run_id} was canceled (${why})`);
}
