/** All that one run knows, and the part of it that continues as new. */
import { workflowInfo } from '@temporalio/workflow';
import type { ResolvedRun } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { digestOf, EMPTY_DIGEST } from '../contract/digest.js';
import type { Compacted } from '../contract/compaction.js';
import type { DurableEvent } from '../contract/events.js';
import type { ChildAwaitChange, ChildAwaitNotice } from '../contract/awaits.js';
import type { LimitName } from '../contract/limits.js';
import type {
  Cancellation,
  ParentRun,
  RunHandle,
  RunInput,
  RunPhase,
  RunRequest,
  RunUsage,
  ThreadTurn,
} from '../contract/run.js';
import { NO_USAGE } from '../contract/snapshot.js';
import { beginStates } from '../contract/tool-state.js';
import type { ToolStates } from '../contract/tool-state.js';
import type { Await } from './awaits.js';
import type { Tree } from './budget.js';
import type { Outcomes } from './commands.js';
import { createLiveBuffer } from './live-buffer.js';
import type { LiveBuffer } from './live-buffer.js';
import { checkRevision, REVISION } from './patches.js';
import { createRunLog } from './run-log.js';
import type { RunLog } from './run-log.js';
import type { Batch } from './tool-batch.js';

/** A limit that says stop: what the synthesis pass is told, and the log. */
export interface Stop {
  /** `run` if absent. */
  scope?: 'run' | 'tree';
  limit: LimitName;
  maximum: number;
  used: number;
  requested?: number;
}

/** What the workflow counts; carried as it is. */
export interface Counters {
  steps: number;
  consecutive_failed: number;
  usage: RunUsage;
}

export interface Pinned {
  request: RunRequest;
  spec: AgentSpec;
  spec_digest: string;
  /** See `patches.ts`; absent: begun under 0.4 or before. */
  revision?: number;
}

export interface Run {
  readonly handle: RunHandle;
  /** Of the run of a thread's turn: what was said before it. */
  readonly turn: ThreadTurn | undefined;
  readonly log: RunLog;
  readonly live: LiveBuffer;
  readonly started_at: number;
  readonly counters: Counters;
  phase: RunPhase | undefined;
  /** How long model calls and tools took, as the workers measured it. */
  worked_ms: number;
  pinned: Pinned | undefined;
  /** How much of the conversation the model has been given, and its digest; and how much of that is the run's own. */
  sent: { length: number; digest: string; own: number };
  /** What is behind a summary. The rest, up to so many of the run's own messages, has so many characters with it. */
  compacted: (Compacted & { characters: number; own: number }) | undefined;
  cancellation: Cancellation | undefined;
  /** Set when the time budget is used up. */
  deadline_passed: boolean;
  /** Stops what is being waited for: a model call, the tools of a batch. */
  readonly interruptible: Set<() => void>;
  /** All pauses of this run, open and over. */
  readonly awaits: Await[];
  /** The ids of updates that were taken: the same one, sent again after continue-as-new, is not a second answer. */
  readonly taken: string[];
  /** Of commands that came as signals. */
  readonly outcomes: Outcomes;
  /** The pauses whose end is being waited for: one timer each, however many calls wait. */
  readonly expiring: Map<string, Promise<void>>;
  /** How many model calls, tools and children are running. */
  working: number;
  /** A long pause is over: what waited for it goes on in a new part of the run, if that can be. */
  moving: boolean;
  /** Notices of children, not yet noted. */
  readonly inbox: ChildAwaitNotice[];
  /** Pauses that the parent is to be told of, and signals to it that are on their way. */
  readonly outbox: ChildAwaitChange[];
  sending: number;
  /** Open pauses below, by the child through which they were told. */
  readonly child_awaits: Map<string, ChildAwaitChange[]>;
  /** Children that have nothing to do but wait for people. */
  readonly paused_children: Set<string>;
  paused_ms: number;
  paused_at: number | undefined;
  readonly tree: Tree;
  /** The calls of the step that is being executed. */
  batch: Batch | undefined;
  /** What its tools have to remember. */
  readonly states: ToolStates;
}

/** Version history: 1 first shape. */
export interface CarriedRun {
  version: 1;
  handle: RunHandle;
  events: DurableEvent[];
  started_at: number;
  counters: Counters;
  phase: RunPhase;
  pinned: Pinned;
  /** `own` absent: all but the thread's. */
  sent: { length: number; digest: string; own?: number };
  compacted?: Compacted & { characters: number; own: number };
  /** Absent: 0. */
  live_next?: number;
  awaits?: Await[];
  taken?: string[];
  outcomes?: Outcomes;
  paused_ms?: number;
  paused_at?: number;
  tree?: Tree;
  batch?: Batch;
  states?: ToolStates;
}

const TAKEN_KEPT = 200;

export function pin({ request, spec, revision }: ResolvedRun): Pinned {
  checkRevision(revision);
  const spec_digest = digestOf(JSON.stringify(spec));
  return { request, spec, spec_digest, ...(revision === undefined ? {} : { revision }) };
}

export function beginRun(raw: unknown): Run {
  const handle = handleOf(raw);
  const counters = { steps: 0, consecutive_failed: 0, usage: { ...NO_USAGE } };
  const run = assemble(handle, turnOf(raw), [], Date.now(), counters);
  run.log.append({ type: 'run_started', input: inputOf(raw), ...inputNameOf(raw) });
  return run;
}

export function resumeRun(carried: CarriedRun): Run {
  checkRevision(carried.pinned.revision);
  const { handle, events, started_at, counters, live_next, pinned } = carried;
  const run = assemble(handle, pinned.request.thread, events, started_at, counters, live_next);
  run.phase = carried.phase;
  run.pinned = carried.pinned;
  run.sent = { own: carried.sent.length - (run.turn?.length ?? 0), ...carried.sent };
  run.compacted = carried.compacted;
  run.awaits.push(...(carried.awaits ?? []));
  run.taken.push(...(carried.taken ?? []));
  run.outcomes.push(...(carried.outcomes ?? []));
  run.paused_ms = carried.paused_ms ?? 0;
  run.paused_at = carried.paused_at;
  if (carried.tree !== undefined) Object.assign(run.tree, carried.tree);
  run.batch = carried.batch;
  if (carried.states !== undefined) Object.assign(run.states, carried.states);
  return run;
}

export function carry(run: Run, pinned: Pinned): CarriedRun {
  return {
    version: 1,
    handle: run.handle,
    events: [...run.log.events],
    started_at: run.started_at,
    counters: run.counters,
    phase: run.phase ?? 'prompted',
    // What comes next has a history of its own.
    pinned: pinned.revision === undefined ? pinned : { ...pinned, revision: REVISION },
    sent: run.sent,
    ...(run.compacted === undefined ? {} : { compacted: run.compacted }),
    live_next: run.live.next(),
    awaits: run.awaits,
    taken: run.taken.slice(-TAKEN_KEPT),
    ...(run.outcomes.length === 0 ? {} : { outcomes: run.outcomes }),
    paused_ms: run.paused_ms,
    ...(run.paused_at === undefined ? {} : { paused_at: run.paused_at }),
    tree: run.tree,
    ...(run.batch === undefined ? {} : { batch: run.batch }),
    states: run.states,
  };
}

function assemble(
  handle: RunHandle,
  turn: ThreadTurn | undefined,
  events: DurableEvent[],
  startedAt: number,
  counters: Counters,
  liveNext = 0,
): Run {
  const live = createLiveBuffer(liveNext);
  const log = createRunLog(handle, events);
  return {
    handle,
    turn,
    log: {
      ...log,
      append(draft) {
        const event = log.append(draft);
        live.close(event);
        return event;
      },
    },
    live,
    started_at: startedAt,
    counters,
    phase: undefined,
    worked_ms: 0,
    pinned: undefined,
    sent: { length: turn?.length ?? 0, digest: turn?.digest ?? EMPTY_DIGEST, own: 0 },
    compacted: undefined,
    cancellation: undefined,
    deadline_passed: false,
    interruptible: new Set(),
    awaits: [],
    taken: [],
    outcomes: [],
    expiring: new Map(),
    working: 0,
    moving: false,
    inbox: [],
    outbox: [],
    sending: 0,
    child_awaits: new Map(),
    paused_children: new Set(),
    paused_ms: 0,
    paused_at: undefined,
    tree: { leases: {}, settled: { ...NO_USAGE } },
    batch: undefined,
    states: beginStates(),
  };
}

/** Before the request is validated: enough for the log to say whose it is. */
function handleOf(raw: unknown): RunHandle {
  const given = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>) : {};
  const runId = workflowInfo().workflowId;
  const parent = workflowInfo().parent === undefined ? undefined : (given['parent'] as ParentRun | undefined);
  return {
    run_id: runId,
    agent_id: typeof given['agent_id'] === 'string' ? given['agent_id'] : 'unknown.agent',
    root_run_id: parent?.root_run_id ?? runId,
    ...(parent === undefined ? {} : { parent_run_id: parent.run_id, parent_tool_call_id: parent.tool_call_id }),
    ...(typeof given['thread_id'] === 'string' ? { thread_id: given['thread_id'] } : {}),
  };
}

function inputOf(raw: unknown): RunInput {
  const input = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)['input'] : undefined;
  return typeof input === 'string' || Array.isArray(input) ? (input as RunInput) : '';
}

function inputNameOf(raw: unknown): { input_name?: string } {
  const name = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)['input_name'] : undefined;
  return typeof name === 'string' && name !== '' ? { input_name: name } : {};
}

/** Only a thread, which is the parent, can give it. */
function turnOf(raw: unknown): ThreadTurn | undefined {
  const given = typeof raw === 'object' && raw !== null ? (raw as { thread?: unknown }).thread : undefined;
  const { turn, length, digest, characters } = (given ?? {}) as Partial<ThreadTurn>;
  if (workflowInfo().parent === undefined || typeof digest !== 'string') return undefined;
  const numbers = [turn, length, characters].every((value) => Number.isSafeInteger(value));
  return numbers ? (given as ThreadTurn) : undefined;
}
