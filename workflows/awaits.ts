/**
 * The pauses of a run: opened by a call, answered once by an update or a signal, or over when their time is up.
 *
 * A1  Each pause is resolved at most once; the answer is written when it comes, in the log, before anything acts on it.
 * A2  An answer that does not fit changes nothing: an update gets the reason, a signal leaves `answer_rejected`.
 * A3  Deadlines are absolute times, so that they hold across continue-as-new.
 */
import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import type {
  ApprovalAnswer,
  AwaitKind,
  ClarificationAnswer,
  ClientToolResult,
  ToolResultsAnswer,
} from '../contract/awaits.js';
import { malformedAnswer } from '../contract/awaits.js';
import type { EventOf } from '../contract/events.js';
import { streamKey } from '../contract/ids.js';
import type { Run } from './run-state.js';

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
    run.log.append({ type: 'await_approval', ...ids, name, arguments: args, digest: entry.digest ?? '', ...common });
  } else {
    run.log.append({ type: 'await_external_tools', ...ids, calls: entry.calls, ...common });
  }
  tell(run, opened, 'open');
  return opened;
}

function tell(run: Run, { await_id, kind, calls }: Await, state: 'open' | 'resolved'): void {
  const { run_id, agent_id } = run.handle;
  run.outbox.push({
    link: { run_id, agent_id, stream_key: streamKey(run_id) },
    await_id,
    kind,
    state,
    // A thread shows the calls of its turn that wait for its client; a parent run has no use for them.
    ...(run.turn === undefined || kind !== 'external_tools' || state !== 'open'
      ? {}
      : { calls: calls.map(({ tool_call_id, name }) => ({ tool_call_id, name })) }),
  });
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
    await_id: entry.await_id,
    resolution,
    ...(typeof by.answered_by === 'string' ? { answered_by: by.answered_by } : {}),
    ...(typeof by.note === 'string' ? { note: by.note } : {}),
  });
  tell(run, entry, 'resolved');
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
