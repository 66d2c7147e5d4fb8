/**
 * The pauses of a run: opened by a call, answered once by an update or a signal, or over when their time is up.
 *
 * A1  Each pause is resolved at most once; the answer is written when it comes, in the log, before anything acts on it.
 * A2  An answer that does not fit changes nothing: an update gets the reason, a signal leaves `answer_rejected`.
 * A3  Deadlines are absolute times, so that they hold across continue-as-new.
 */
import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import type {
  AnswerRules,
  ApprovalAnswer,
  AwaitKind,
  ChildAwaitChange,
  ClarificationAnswer,
  ClientToolResult,
  ToolResultsAnswer,
} from '../contract/awaits.js';
import { malformedAnswer } from '../contract/awaits.js';
import { answerRefused, answerRules } from '../contract/policy.js';
import { callerOf } from '../contract/principal.js';
import type { EventOf } from '../contract/events.js';
import { isClientToolId, stepIdOfCall, streamKey } from '../contract/ids.js';
import { toldAnswer, toldAsks } from '../contract/pause-text.js';
import { renderCall } from '../contract/render-call.js';
import { threadOfRun } from '../contract/thread-ids.js';
import { isSince2 } from './patches.js';
import type { Run } from './run-state.js';

const LONG_PAUSE_MS = 600_000;

export interface Await {
  await_id: string;
  kind: AwaitKind;
  /** The one call that waits, or all client calls of a batch. */
  calls: { tool_call_id: string; name: string; arguments: string }[];
  question?: string;
  choices?: string[];
  digest?: string;
  expires_at?: number;
  results: Record<string, ClientToolResult>;
  answer?: string;
  opened_at?: number;
  /** It was a long pause, and the run has continued as new since it is over. */
  continued?: boolean;
  resolution?: EventOf<'await_resolved'>['resolution'];
}

type Answer = ClarificationAnswer | ToolResultsAnswer | ApprovalAnswer;

export function openAwaits(run: Run): Await[] {
  return run.awaits.filter((entry) => entry.resolution === undefined);
}

export function openAwait(run: Run, entry: Omit<Await, 'results'>, stepId: string, toolId?: string): Await {
  const opened: Await = { ...entry, results: {}, opened_at: Date.now() };
  run.awaits.push(opened);
  const [first] = entry.calls;
  const ids = {
    step_id: stepId,
    ...(toolId === undefined ? {} : { tool_id: toolId }),
    ...(first === undefined || entry.kind === 'external_tools' ? {} : { tool_call_id: first.tool_call_id }),
  };
  const common = {
    await_id: entry.await_id,
    ...(entry.expires_at === undefined ? {} : { expires_at: new Date(entry.expires_at).toISOString() }),
  };
  if (entry.kind === 'clarification') {
    const { question = '', choices } = entry;
    run.log.append({
      type: 'await_clarification',
      ...ids,
      question,
      ...(choices === undefined ? {} : { choices }),
      ...common,
    });
  } else if (entry.kind === 'approval') {
    const { name = '', arguments: args = '' } = first ?? {};
    const rendering = renderCall(name, args);
    // Where it is not needed, the log is spared a second copy of the arguments.
    const isPlain = !isSince2(run.pinned?.revision) || rendering === `${args}\n${name}`;
    run.log.append({
      type: 'await_approval',
      ...ids,
      name,
      arguments: args,
      digest: entry.digest ?? '',
      ...(isPlain ? {} : { rendering }),
      ...common,
    });
  } else {
    run.log.append({ type: 'await_external_tools', ...ids, calls: entry.calls, ...common });
  }
  tell(run, opened, 'open');
  return opened;
}

function tell(run: Run, entry: Await, state: 'open' | 'resolved'): void {
  const { await_id, kind, calls } = entry;
  const { run_id, agent_id } = run.handle;
  run.outbox.push({
    ...(threadOfRun(run_id) === undefined || kind === 'external_tools' ? {} : toldInThread(run, kind, entry, state)),
    link: { run_id, agent_id, stream_key: streamKey(run_id) },
    await_id,
    kind,
    state,
    // A thread shows the calls of its turn that wait for its client; a parent run has no use for them.
    ...(run.turn === undefined || state !== 'open' || !isClients(entry)
      ? {}
      : { calls: calls.map(({ tool_call_id, name }) => ({ tool_call_id, name })), rules: rulesOf(run.pinned) }),
  });
}

function isClients({ kind, calls: [first] }: Await): boolean {
  return kind === 'external_tools' || (kind === 'approval' && first !== undefined && isClientToolId(first.name));
}

/** What a thread shows of a question or an approval in its turn, and needs to take the answer. */
function toldInThread(
  { pinned, turn }: Run,
  kind: 'clarification' | 'approval',
  { resolution, answer, ...entry }: Await,
  state: 'open' | 'resolved',
): Partial<ChildAwaitChange> {
  if (state === 'resolved') {
    return {
      ...(resolution === undefined ? {} : { resolution }),
      ...(kind === 'clarification' && answer !== undefined ? { answer: toldAnswer(answer) } : {}),
    };
  }
  return { asks: toldAsks({ ...entry, kind }, turn !== undefined), ...toldRules(pinned) };
}

function toldRules(pinned: Run['pinned']): Pick<ChildAwaitChange, 'rules'> {
  const rules = rulesOf(pinned);
  return rules.length === 0 ? {} : { rules };
}

/** Who may answer. A run that began before revision 2 lets its request or an ancestor replace what holds by default. */
function rulesOf(pinned: Run['pinned']): AnswerRules {
  const policies = pinned?.spec.policies ?? [];
  const own = policies[pinned?.request.parent?.policies.length ?? 0];
  return answerRules(policies, isSince2(pinned?.revision) ? own : undefined);
}

/** Waits for the answer, the end of its time, or an interrupt of the run. */
export function resolved(run: Run, entry: Await): Promise<void> {
  const known = run.expiring.get(entry.await_id);
  const wait = known ?? untilResolved(run, entry);
  run.expiring.set(entry.await_id, wait);
  return wait;
}

async function untilResolved(run: Run, entry: Await): Promise<void> {
  const timer = new CancellationScope();
  if (entry.expires_at !== undefined) {
    const left = Math.max(1, entry.expires_at - Date.now());
    timer
      .run(() => sleep(left, { summary: `${entry.await_id} expires` }))
      .then(
        () => close(run, entry, 'expired'),
        () => {},
      );
  }
  await condition(() => entry.resolution !== undefined || run.cancellation !== undefined || run.deadline_passed);
  timer.cancel();
  close(run, entry, 'canceled');
  if (!wasLong(run, entry)) return;
  entry.continued = true;
  run.moving = true;
  await condition(() => !run.moving);
}

/** What goes on after a long pause should do so on new code, and with a short history: see `waitOutPauses`. */
function wasLong({ pinned, working }: Run, { continued, resolution, opened_at = Date.now() }: Await): boolean {
  if (pinned?.revision === undefined || continued === true || resolution === 'canceled' || working > 0) return false;
  return Date.now() - opened_at >= (pinned.spec.runtime.long_pause_ms ?? LONG_PAUSE_MS);
}

/** The first resolution stands. */
export function close(
  run: Run,
  entry: Await,
  resolution: NonNullable<Await['resolution']>,
  by: { answered_by?: string; note?: string } = {},
): void {
  if (entry.resolution !== undefined) return;
  entry.resolution = resolution;
  run.log.append({
    type: 'await_resolved',
    ...idsOf(entry),
    await_id: entry.await_id,
    resolution,
    ...(typeof by.answered_by === 'string' ? { answered_by: by.answered_by } : {}),
    ...(typeof by.note === 'string' ? { note: by.note } : {}),
  });
  tell(run, entry, 'resolved');
}

/** The step, and the call where it is one: the event that opened a pause of several lists them. */
function idsOf({ calls }: Await): { step_id?: string; tool_id?: string; tool_call_id?: string } {
  const [first] = calls;
  const step_id = first === undefined ? undefined : stepIdOfCall(first.tool_call_id);
  return {
    ...(step_id === undefined ? {} : { step_id }),
    ...(first === undefined || calls.length > 1 ? {} : { tool_id: first.name, tool_call_id: first.tool_call_id }),
  };
}

/** Why the answer cannot be taken, with ids and the next step; undefined when it can. */
export function refusal(run: Run, kind: AwaitKind, answer: unknown): string | undefined {
  const shape = malformedAnswer(kind, answer);
  if (shape !== undefined) return `${shape}.`;
  const given = answer as Answer;
  const entry = find(run, kind, given);
  const open = openAwaits(run).map((other) => `${other.await_id} (${other.kind})`);
  const what = String(given.await_id ?? (given as ToolResultsAnswer).results[0]?.tool_call_id).slice(0, 200);
  const list = open.length === 0 ? 'The run waits for nothing.' : `Open: ${open.join(', ')}.`;
  if (entry === undefined) return `Run ${run.handle.run_id} has no pause of kind ${kind} for ${what}. ${list}`;
  if (entry.resolution !== undefined)
    return `${entry.await_id} is ${entry.resolution} already; the first answer stands. ${list}`;
  if (kind === 'approval' && (given as ApprovalAnswer).digest !== entry.digest) {
    return `The digest is not that of ${entry.await_id}: what would be approved is another call than the one that waits. Read its await_approval event again.`;
  }
  if (kind === 'external_tools') return refusedResults(entry, given as ToolResultsAnswer);
  return undefined;
}

function refusedResults(entry: Await, { results }: ToolResultsAnswer): string | undefined {
  const asked = entry.calls.map((call) => call.tool_call_id);
  for (const { tool_call_id } of results) {
    if (!asked.includes(tool_call_id))
      return `${tool_call_id.slice(0, 200)} was not asked of the caller. Asked: ${asked.join(', ')}.`;
    if (entry.results[tool_call_id] !== undefined)
      return `${tool_call_id} has its result already; the first one stands.`;
  }
  return new Set(results.map((result) => result.tool_call_id)).size < results.length
    ? 'A call is answered twice.'
    : undefined;
}

/** Why this person may not give it; undefined where they may, or where nobody is named. */
export function notTheirs({ pinned }: Run, kind: AwaitKind, answer: unknown): string | undefined {
  const { by } = answer as Answer;
  if (by === undefined || pinned === undefined) return undefined;
  const what = kind === 'approval' ? 'approvals' : 'answers';
  return answerRefused(rulesOf(pinned), what, by, callerOf(pinned.request).principal);
}

/** Takes an answer that was not refused. */
export function accept(run: Run, kind: AwaitKind, answer: unknown): void {
  const given = answer as Answer;
  const entry = find(run, kind, given);
  if (entry === undefined) return;
  if (kind === 'clarification') {
    entry.answer = (given as ClarificationAnswer).answer;
    close(run, entry, 'answered', given);
  } else if (kind === 'approval') {
    const { decision, note } = given as ApprovalAnswer;
    if (typeof note === 'string') entry.answer = note;
    close(run, entry, decision === 'approve' ? 'approved' : 'denied', given as ApprovalAnswer);
  } else {
    for (const result of (given as ToolResultsAnswer).results) entry.results[result.tool_call_id] = result;
    if (entry.calls.every((call) => entry.results[call.tool_call_id] !== undefined))
      close(run, entry, 'answered', given);
  }
}

function find(run: Run, kind: AwaitKind, given: Answer): Await | undefined {
  const ofKind = run.awaits.filter((entry) => entry.kind === kind);
  if (given.await_id !== undefined) return ofKind.find((entry) => entry.await_id === given.await_id);
  const first = (given as ToolResultsAnswer).results[0]?.tool_call_id;
  return ofKind.find((entry) => entry.calls.some((call) => call.tool_call_id === first));
}
