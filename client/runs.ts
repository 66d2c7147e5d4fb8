/** Start, watch, read and cancel runs over a Temporal client. */
import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { ArtefactStore } from '../contract/artefacts.js';
import { checkRequest } from '../contract/check-request.js';
import { PerdureError } from '../contract/errors.js';
import type { DurableEvent, EventOf } from '../contract/events.js';
import type { StreamMarker } from '../contract/live-events.js';
import type { ApprovalAnswer, ClarificationAnswer, ToolResultsAnswer } from '../contract/awaits.js';
import {
  ANSWER_CLARIFICATION,
  CANCEL,
  DECIDE_APPROVAL,
  MEMO,
  RUN_WORKFLOW,
  SUBMIT_TOOL_RESULTS,
  TASK_QUEUE,
} from '../contract/names.js';
import { offloadMedia } from '../contract/offload-media.js';
import type { CancelRequest } from '../contract/queries.js';
import type { CancelReason, RunHandle, RunRequest, RunRequestInput } from '../contract/run.js';
import { projectSnapshot } from '../contract/snapshot.js';
import type { RunSnapshot } from '../contract/snapshot.js';
import type { LiveChannel } from '../live/channel.js';
import { applyProfile, resolveProfile } from '../contract/profiles.js';
import type { ProfileName, StreamProfileInput } from '../contract/profiles.js';
import { describeRun } from './describe-run.js';
import type { RunRecord } from './describe-run.js';
import { engineEnd } from './engine-end.js';
import { explain } from './explain-error.js';
import { listRuns } from './list-runs.js';
import type { RunFilter, RunPage } from './list-runs.js';
import { logReader, readEvents } from './read-log.js';
import type { RunStream } from './run-stream.js';
import { createStartAttributes } from './start-attributes.js';
import { createStreams } from './streams.js';
import type { StreamOptions } from './streams.js';

const RPC_DEADLINE_MS = 10_000;
const UPDATE_DEADLINE_MS = 5_000;

export interface ClientOptions {
  client: Client;
  /** The worker's own channel, where it runs in this process; without it, live text comes by polling. */
  channel?: LiveChannel;
  /** Where media parts above the inline limit go. */
  artefacts?: ArtefactStore;
  taskQueue?: string;
}

export interface StartOptions {
  /** Kept with the run: tells a repeated start from another one with the same id. */
  request_digest?: string;
}

export interface ReadOptions {
  /** What is shown of each event; all of it if absent. */
  profile?: ProfileName | StreamProfileInput;
}

export interface Runs {
  start(request: RunRequestInput, options?: StartOptions): Promise<RunHandle>;
  stream(runId: string, options?: StreamOptions): RunStream;
  /** How many events the log has now. */
  tail(runId: string): Promise<number>;
  get(runId: string, options?: ReadOptions): Promise<RunSnapshot & { engine_end?: StreamMarker }>;
  /** Who owns it, as the server knows at once. */
  describe(runId: string): Promise<RunRecord>;
  /** Root runs, newest first; a run that was just started may not be there yet. */
  list(filter?: RunFilter): Promise<RunPage>;
  /** Waits for the end. */
  result(runId: string): Promise<EventOf<'run_completed'>>;
  cancel(runId: string, request?: { reason?: CancelReason; note?: string }): Promise<void>;
  /** Answers a pause of the run that owns it: `run_id` of the event, the root's or a descendant's. */
  answerClarification(runId: string, answer: ClarificationAnswer): Promise<void>;
  submitToolResults(runId: string, answer: ToolResultsAnswer): Promise<void>;
  decideApproval(runId: string, answer: ApprovalAnswer): Promise<void>;
}

export function createRuns({ client, channel, artefacts, taskQueue = TASK_QUEUE }: ClientOptions): Runs & {
  close(): Promise<void>;
  /** The events that are there now, by query. */
  readOnce(runId: string, from: number): AsyncGenerator<DurableEvent, undefined>;
} {
  const { stream, tail, close } = createStreams({
    client,
    channel,
    readOnce: (runId, from) => readOnce(client, runId, from),
    readTail: (runId) => readTail(client, runId),
  });

  const startAttributes = createStartAttributes(client);

  /** Not tried again as a signal: whoever answers must hear whether the answer was taken. */
  async function answer(runId: string, update: string, given: object): Promise<void> {
    try {
      await client.withDeadline(Date.now() + UPDATE_DEADLINE_MS, () =>
        client.workflow.getHandle(runId).executeUpdate<unknown, [object]>(update, { args: [given] }),
      );
    } catch (error) {
      throw explain(error, runId);
    }
  }

  return {
    stream,
    tail,
    readOnce: (runId, from) => readOnce(client, runId, from),
    answerClarification: (runId, given) => answer(runId, ANSWER_CLARIFICATION, given),
    submitToolResults: (runId, given) => answer(runId, SUBMIT_TOOL_RESULTS, given),
    decideApproval: (runId, given) => answer(runId, DECIDE_APPROVAL, given),
    close,
    describe: (runId) => describeRun(client, runId),
    list: (filter = {}) => listRuns(client, filter),
    async start(input, { request_digest } = {}) {
      const request = await prepare(input, artefacts, channel === undefined);
      const runId = request.run_id ?? `run_${randomUUID()}`;
      const typedSearchAttributes = await startAttributes(request, runId);
      try {
        await client.withDeadline(Date.now() + RPC_DEADLINE_MS, () =>
          client.workflow.start(RUN_WORKFLOW, {
            workflowId: runId,
            taskQueue,
            args: [request],
            workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
            staticSummary: summaryOf(request),
            typedSearchAttributes,
            memo: memoOf({ org_id: request.org_id, created_by: request.created_by, request_digest }),
          }),
        );
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) {
          throw new PerdureError('run_exists', `there is a run "${runId}" already`, { cause: error });
        }
        throw explain(error, runId);
      }
      const { agent_id, thread_id } = request;
      return { run_id: runId, agent_id, root_run_id: runId, ...(thread_id === undefined ? {} : { thread_id }) };
    },
    async get(runId, { profile } = {}) {
      const events: DurableEvent[] = [];
      for await (const event of readOnce(client, runId, 0)) events.push(event);
      const snapshot = projectSnapshot(profile === undefined ? events : shown(events, profile));
      if (snapshot === undefined) throw new PerdureError('unknown_run', `run ${runId} has no log yet`);
      snapshot.tail = events.length;
      const end = snapshot.status === 'running' ? await engineEnd(client, runId) : undefined;
      return end === undefined ? snapshot : { ...snapshot, engine_end: end };
    },
    async result(runId) {
      for await (const event of stream(runId)) {
        if (event.type === 'run_completed') return event;
        if (event.type === 'stream_ended')
          throw new PerdureError(event.reason === 'not_found' ? 'unknown_run' : 'run_ended', event.message);
      }
      throw new PerdureError('internal', `the stream of run ${runId} ended without an end of the run`);
    },
    async cancel(runId, request = {}) {
      const handle = client.workflow.getHandle(runId);
      try {
        await client.withDeadline(Date.now() + UPDATE_DEADLINE_MS, () =>
          handle.executeUpdate<unknown, [CancelRequest]>(CANCEL, { args: [request] }),
        );
      } catch (error) {
        if (isFinal(error)) throw explain(error, runId);
        // No worker took the update in time: a signal is kept by the server until one comes.
        await client
          .withDeadline(Date.now() + RPC_DEADLINE_MS, () => handle.signal(CANCEL, request))
          .catch((failed: unknown) => {
            throw explain(failed, runId);
          });
      }
    },
  };
}

async function prepare(
  input: RunRequestInput,
  artefacts: ArtefactStore | undefined,
  signalLive: boolean,
): Promise<RunRequest> {
  const withReferences =
    Array.isArray(input.input) && artefacts !== undefined
      ? { ...input, input: await offloadMedia(input.input, artefacts, (base64) => Buffer.from(base64, 'base64')) }
      : input;
  const request = checkRequest(withReferences);
  return signalLive ? { signal_live: true, ...request } : request;
}

async function* readOnce(client: Client, runId: string, from: number): AsyncGenerator<DurableEvent, undefined> {
  try {
    for await (const { event } of readEvents(logReader(client, runId), from)) yield event;
  } catch (error) {
    throw explain(error, runId);
  }
}

async function readTail(client: Client, runId: string): Promise<number> {
  try {
    return (await logReader(client, runId)({ from: Number.MAX_SAFE_INTEGER })).tail;
  } catch (error) {
    throw explain(error, runId);
  }
}

function* shown(events: readonly DurableEvent[], profile: ProfileName | StreamProfileInput) {
  const resolved = resolveProfile(profile);
  for (const event of events) {
    const seen = applyProfile(resolved, event);
    if (seen !== undefined) yield seen;
  }
}

function memoOf(fields: Record<keyof typeof MEMO, string | undefined>): Record<string, string> {
  const given = Object.entries(fields).filter((entry): entry is [keyof typeof MEMO, string] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [MEMO[name], value]));
}

function summaryOf({ agent_id, input }: RunRequest): string {
  const text = typeof input === 'string' ? input : (input.find((part) => part.type === 'text')?.text ?? 'media');
  const line = text.replace(/\s+/g, ' ');
  return `${agent_id}: ${line.length > 60 ? `${line.slice(0, 59)}…` : line}`;
}

/** The run is gone or over, or it refused the request: a signal would not fare better. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof WorkflowNotFoundError || (error instanceof Error && error.name === 'WorkflowUpdateFailedError')
  );
}
