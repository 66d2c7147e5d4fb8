/** Runs through a gateway: the calls of `perdure/client`, of the same shapes where the gateway has them. */
import type { ApprovalAnswer, AwaitKind, ClarificationAnswer, ToolResultsAnswer } from '../../contract/awaits.js';
import { PerdureError } from '../../contract/errors.js';
import type { EventOf } from '../../contract/events.js';
import type { StreamMarker } from '../../contract/live-events.js';
import type { CancelReason, RunHandle, RunPhase, RunRequestInput } from '../../contract/run.js';
import type { RunSnapshot } from '../../contract/snapshot.js';
import { createToldRuns } from '../../dialects/told-runs.js';
import type { ToldRuns } from '../../dialects/told-runs.js';
import type { GatewayCalls } from './gateway-calls.js';
import { openHttpStream } from './http-stream.js';
import type { HttpRunStream, HttpStreamContext, HttpStreamOptions } from './http-stream.js';
import { tellHttpRun } from './http-told-run.js';
import type { Resumable } from './http-told-run.js';

export interface RunFilter {
  agent_id?: string;
  phase?: RunPhase;
  thread_id?: string;
  /** Those that wait for somebody, or those that do not. */
  waiting?: boolean;
  /** ISO 8601. */
  created_after?: string;
  created_before?: string;
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string;
}

export interface RunPage {
  runs: {
    run_id: string;
    agent_id?: string;
    phase?: string;
    thread_id?: string;
    created_by?: string;
    /** What the run, or one below it, has waited for longest; absent where nothing waits. */
    waiting?: AwaitKind;
    /** How the engine sees it: it can end a run that had no chance to write its phase. */
    engine_status: 'running' | 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed_out';
    created_at: string;
    ended_at?: string;
  }[];
  next_cursor?: string;
}

export interface HttpRuns extends ToldRuns<RunRequestInput, HttpStreamOptions, Resumable> {
  start(request: RunRequestInput): Promise<RunHandle>;
  /** Goes on over broken connections and restarts of the gateway; ends as the run ends. */
  stream(runId: string, options?: HttpStreamOptions): HttpRunStream;
  get(runId: string): Promise<RunSnapshot & { engine_end?: StreamMarker }>;
  list(filter?: RunFilter): Promise<RunPage>;
  /** Waits for the end. */
  result(runId: string): Promise<EventOf<'run_completed'>>;
  cancel(runId: string, request?: { reason?: CancelReason; note?: string }): Promise<void>;
  /** A file that the run made, or an output that its log holds in part: an id that one of its events names. */
  readArtefact(runId: string, artefact: string): Promise<Uint8Array>;
  /** Where the gateway serves it, to whoever may see the run. */
  artefactUrl(runId: string, artefact: string): string;
  /** Answers a pause of the run that owns it: `run_id` of the event, the root's or a descendant's. */
  /** Who answers, the gateway knows by the credential. */
  answerClarification(runId: string, answer: Omit<ClarificationAnswer, 'by'>): Promise<void>;
  submitToolResults(runId: string, answer: Omit<ToolResultsAnswer, 'by'>): Promise<void>;
  decideApproval(runId: string, answer: Omit<ApprovalAnswer, 'by'>): Promise<void>;
}

export function createHttpRuns(calls: GatewayCalls, context: Omit<HttpStreamContext, 'calls'>): HttpRuns {
  const pathOf = (runId: string, rest = '') => `/v1/runs/${encodeURIComponent(runId)}${rest}`;
  const pathOfArtefact = (runId: string, id: string) => pathOf(runId, `/artefacts/${encodeURIComponent(id)}`);
  const send = async (runId: string, what: string, body: object) => {
    await calls.post<unknown>(pathOf(runId, what), body);
  };
  const stream = (runId: string, options?: HttpStreamOptions) => openHttpStream({ ...context, calls }, runId, options);

  const start = (request: RunRequestInput) => calls.post<RunHandle>('/v1/runs', request);

  return {
    stream,
    start,
    ...createToldRuns<RunRequestInput, HttpStreamOptions, Resumable>((dialect, run, options) =>
      tellHttpRun({ ...context, calls }, start, dialect, run, options),
    ),
    get: (runId) => calls.get(pathOf(runId)),
    list: (filter = {}) => calls.get<RunPage>('/v1/runs', { ...filter }),
    async readArtefact(runId, artefact) {
      const response = await calls.open(pathOfArtefact(runId, artefact), {}, context.closing);
      return new Uint8Array(await response.arrayBuffer());
    },
    artefactUrl: (runId, artefact) => calls.address(pathOfArtefact(runId, artefact)),
    cancel: (runId, request = {}) => send(runId, '/cancel', request),
    answerClarification: (runId, answer) => send(runId, '/clarifications', answer),
    submitToolResults: (runId, answer) => send(runId, '/tool-results', answer),
    decideApproval: (runId, answer) => send(runId, '/approvals', answer),
    async result(runId) {
      for await (const event of stream(runId)) {
        if (event.type === 'run_completed' && event.run_id === runId) return event;
        if (event.type === 'stream_ended' && event.run_id === runId) {
          throw new PerdureError(event.reason === 'not_found' ? 'unknown_run' : 'run_ended', event.message);
        }
      }
      throw new PerdureError('server_unreachable', `the client was closed before run ${runId} had ended`);
    },
  };
}
