/** Start, watch, read and cancel runs over a Temporal client. */
import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { checkRequest, checkShape } from '../contract/check-request.js';
import { checkSizes } from '../contract/check-sizes.js';
import { errorOf, isPerdureError, PerdureError } from '../contract/errors.js';
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
import { offloadMedia, refersToStore } from '../contract/offload-media.js';
import type { CancelReason, RunHandle, RunRequest, RunRequestInput } from '../contract/run.js';
import { projectSnapshot } from '../contract/snapshot.js';
import type { RunSnapshot } from '../contract/snapshot.js';
import type { LiveChannel } from '../live/channel.js';
import { applyProfile, resolveProfile } from '../contract/profiles.js';
import type { OwnProfiles, ProfileChoice } from '../contract/profiles.js';
import { ownProfiles } from '../contract/own-profiles.js';
import type { ProfileInputs } from '../contract/own-profiles.js';
import { summaryLine } from '../contract/ui-markdown.js';
import type { ClosedLogs, ClosedReader } from './closed-logs.js';
import { describeRun } from './describe-run.js';
import type { RunRecord } from './describe-run.js';
import { engineEnd } from './engine-end.js';
import { findExecution } from './execution.js';
import { explain } from './explain-error.js';
import { listRuns } from './list-runs.js';
import type { RunFilter, RunPage } from './list-runs.js';
import { createLogReader } from './read-log.js';
import type { LogReader } from './read-log.js';
import type { RunStream } from './run-stream.js';
import { createToldRuns } from '../dialects/told-runs.js';
import type { ToldRuns } from '../dialects/told-runs.js';
import { createStartAttributes } from './start-attributes.js';
import { createStreams } from './streams.js';
import type { StreamOptions } from './streams.js';
import { tellRun } from './tell-run.js';
import type { UpdateLimits, Updates } from './updates.js';

const RPC_DEADLINE_MS = 10_000;
const UPDATE_DEADLINE_MS = 5_000;

export interface ClientOptions {
  client: Client;
  /**
   * What brings live text: `createRedisChannel()`, or the worker's own channel where it runs in this process. Without
   * one, text comes by the block, by polling.
   */
  channel?: LiveChannel;
  /** `temporal`: runs that are started here send live text as signals into their own history, where polling finds it. */
  live?: 'temporal';
  /** Where media parts above the inline limit go; and where files and large pictures of told runs come from. */
  artefacts?: ArtefactStore;
  /** Runs that are over, where they are kept: asked before Temporal, and when it has forgotten a run. */
  archive?: ClosedLogs;
  taskQueue?: string;
  /** Stream profiles of one's own, by name: what the configuration has as `profiles`. */
  profiles?: ProfileInputs;
  /** Told, once for each run or thread that is watched, of what keeps it from being read for now. */
  onObstacle?: (id: string, error: unknown, what: 'run' | 'thread') => void;
  /** How much may wait here to be sent to one run or thread; whoever comes then is told to wait. */
  limits?: ClientLimits;
}

export interface ClientLimits extends UpdateLimits {
  /** Messages that wait for those before them to be taken, of one thread; 1,000 by default. */
  waiting_messages?: number;
}

export interface StartOptions {
  /** Kept with the run: tells a repeated start from another one with the same id. */
  request_digest?: string;
}

export interface ReadOptions {
  /** What is shown of each event; all of it if absent. */
  profile?: ProfileChoice;
}

export interface Runs extends ToldRuns<RunRequestInput, StreamOptions> {
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

export function createRuns(
  options: ClientOptions,
  updates: Updates,
  closed: ClosedReader,
): Runs & {
  close(): Promise<void>;
  /** The events that are there now, by query. */
  readOnce(runId: string, from: number): AsyncGenerator<DurableEvent, undefined>;
} {
  const { client, channel, live, artefacts, taskQueue = TASK_QUEUE, onObstacle } = options;
  const profiles = ownProfiles(options.profiles);
  const reader = createLogReader(client, closed);
  const { stream, tail, close } = createStreams({
    client,
    reader,
    closed,
    channel,
    readOnce: (runId, from) => readOnce(reader, runId, from),
    readTail: (runId) => readTail(reader, runId),
    onObstacle: (runId, error) => onObstacle?.(runId, error, 'run'),
    profiles,
  });

  const startAttributes = createStartAttributes(client);

  /** Not tried again as a signal: whoever answers must hear whether the answer was taken. */
  async function answer(runId: string, update: string, given: object): Promise<void> {
    checkSizes(given);
    try {
      await updates.execute(runId, update, given, { deadlineMs: UPDATE_DEADLINE_MS });
    } catch (error) {
      throw await orEnded(explain(error, runId), runId);
    }
  }

  /** One that Temporal has forgotten is over, and not unknown; nor is one that ends while it is told something. */
  async function orEnded(error: Error, runId: string): Promise<Error> {
    if (!isPerdureError(error) || error.code !== 'unknown_run') return error;
    if ((await closed.find(runId)) !== undefined) return runEnded(runId, error);
    // What is not known of it does not replace what is.
    const found = await findExecution(client, runId).catch(() => undefined);
    return found?.isOpen === false ? runEnded(runId, error) : error;
  }

  const start: Runs['start'] = async (input, { request_digest } = {}) => {
    const { run_id: runId, ...request } = await prepare(input, artefacts, live === 'temporal');
    // Temporal has forgotten it, and would take the id once more.
    if (input.run_id !== undefined && (await closed.find(runId)) !== undefined) throw runExists(runId);
    const typedSearchAttributes = await startAttributes(request, runId);
    channel?.expect(runId);
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
      if (error instanceof WorkflowExecutionAlreadyStartedError) throw runExists(runId, error);
      throw explain(error, runId);
    }
    const { agent_id, thread_id } = request;
    return { run_id: runId, agent_id, root_run_id: runId, ...(thread_id === undefined ? {} : { thread_id }) };
  };

  return {
    start,
    ...createToldRuns<RunRequestInput, StreamOptions, unknown>((dialect, run, asked) =>
      tellRun({ runs: { start, stream, tail }, profiles, artefacts }, dialect, run, asked),
    ),
    stream,
    tail,
    readOnce: (runId, from) => readOnce(reader, runId, from),
    answerClarification: (runId, given) => answer(runId, ANSWER_CLARIFICATION, given),
    submitToolResults: (runId, given) => answer(runId, SUBMIT_TOOL_RESULTS, given),
    decideApproval: (runId, given) => answer(runId, DECIDE_APPROVAL, given),
    close,
    describe: (runId) => describeRun(client, closed, runId),
    list: (filter = {}) => listRuns(client, filter),
    async get(runId, { profile } = {}) {
      const events: DurableEvent[] = [];
      for await (const event of readOnce(reader, runId, 0)) events.push(event);
      const snapshot = projectSnapshot(profile === undefined ? events : shown(events, profile, profiles));
      if (snapshot === undefined) throw new PerdureError('unknown_run', `run ${runId} has no log yet`);
      snapshot.tail = events.length;
      const end = snapshot.status === 'running' ? await engineEnd(client, closed, runId) : undefined;
      return end === undefined ? snapshot : { ...snapshot, engine_end: end };
    },
    async result(runId) {
      for await (const event of stream(runId)) {
        if (event.type === 'run_completed') return event;
        if (event.type === 'stream_ended')
          throw new PerdureError(event.reason === 'not_found' ? 'unknown_run' : 'run_ended', event.message);
        if (event.type === 'stream_failed') throw errorOf(event);
      }
      throw new PerdureError('internal', `the stream of run ${runId} ended without an end of the run`);
    },
    async cancel(runId, request = {}) {
      checkSizes(request);
      if ((await closed.find(runId)) !== undefined) throw runEnded(runId);
      // Another workflow, such as a thread, would take a signal and do nothing.
      await describeRun(client, closed, runId);
      const handle = client.workflow.getHandle(runId);
      try {
        await updates.execute(runId, CANCEL, request, { deadlineMs: UPDATE_DEADLINE_MS });
      } catch (error) {
        if (isFinal(error)) throw await orEnded(explain(error, runId), runId);
        // No worker took the update in time: a signal is kept by the server until one comes.
        await client
          .withDeadline(Date.now() + RPC_DEADLINE_MS, () => handle.signal(CANCEL, request))
          .catch((failed: unknown) => {
            throw explain(failed, runId);
          });
      }
      channel?.publishCancel(runId);
    },
  };
}

async function prepare(
  given: RunRequestInput,
  artefacts: ArtefactStore | undefined,
  signalLive: boolean,
): Promise<RunRequest & { run_id: string }> {
  const { agent_id, input, run_id = newRunId(agent_id) } = checkShape(given);
  if (typeof input !== 'string' && input.some(refersToStore)) {
    const message = 'a part refers to the artefact store; send its data, which is stored for this run';
    throw new PerdureError('invalid_request', `input: ${message}`, { issues: [{ path: 'input', message }] });
  }
  const own = artefacts?.of(scopeOf(run_id));
  const withReferences =
    typeof input === 'string' || own === undefined
      ? given
      : { ...given, input: await offloadMedia(input, own, (base64) => Buffer.from(base64, 'base64')) };
  const request = { ...checkRequest(withReferences), run_id };
  return signalLive ? { signal_live: true, ...request } : request;
}

async function* readOnce(reader: LogReader, runId: string, from: number): AsyncGenerator<DurableEvent, undefined> {
  try {
    for await (const { event } of reader.events(runId, from)) yield event;
  } catch (error) {
    throw explain(error, runId);
  }
}

async function readTail(reader: LogReader, runId: string): Promise<number> {
  try {
    return await reader.tail(runId);
  } catch (error) {
    throw explain(error, runId);
  }
}

function* shown(events: readonly DurableEvent[], profile: ProfileChoice, own: OwnProfiles) {
  const resolved = resolveProfile(profile, own);
  for (const event of events) {
    const seen = applyProfile(resolved, event);
    if (seen !== undefined) yield seen;
  }
}

function memoOf(fields: Record<keyof typeof MEMO, string | undefined>): Record<string, string> {
  const given = Object.entries(fields).filter((entry): entry is [keyof typeof MEMO, string] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [MEMO[name], value]));
}

/** Lists of workflows show the id first, so it says whose run it is. */
function newRunId(agentId: string): string {
  return `${agentId}-${randomUUID()}`;
}

function summaryOf({ agent_id, input }: Pick<RunRequest, 'agent_id' | 'input'>): string {
  const text = typeof input === 'string' ? input : (input.find((part) => part.type === 'text')?.text ?? 'media');
  return summaryLine(`${agent_id}: ${text}`);
}

function runExists(runId: string, cause?: unknown): PerdureError {
  return new PerdureError('run_exists', `there is a run "${runId}" already`, { cause });
}

function runEnded(runId: string, cause?: unknown): PerdureError {
  return new PerdureError('run_ended', `run ${runId} has ended`, { cause });
}

/** The run is gone or over, or it refused the request: a signal would not fare better. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof WorkflowNotFoundError || (error instanceof Error && error.name === 'WorkflowUpdateFailedError')
  );
}
