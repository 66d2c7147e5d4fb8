/** What a person sees of a run in the Temporal UI: search attributes and the current details. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { AwaitKind } from '../contract/awaits.js';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import type { SearchAttributeName } from '../contract/names.js';
import type { Limits } from '../contract/limits.js';
import type { RunHandle, RunPhase, RunUsage } from '../contract/run.js';
import { code, plain, quotedLines } from '../contract/ui-markdown.js';
import { openAwaits } from './awaits.js';
import { treeLimits, treeUsage } from './budget.js';
import { createLatePhases } from './late-phases.js';
import { engineMessage } from './run-failure.js';
import type { Run } from './run-state.js';

export function setPhase(run: Run, phase: RunPhase): void {
  if (run.phase === phase) return;
  const previous = run.phase;
  run.phase = phase;
  run.log.append({
    type: 'run_phase_changed',
    phase,
    ...(previous === undefined ? {} : { previous_phase: previous }),
  });
}

export interface RunPage {
  /** Brings the UI up to date. Called before each wait, so that one workflow task writes at most one upsert. */
  show(): void;
  /** Only the details, which cost nothing. */
  refresh(): void;
  /** The run, or one below it, has begun or ceased to wait for someone. */
  pauseChanged(): void;
  /** The run is at its end: shows it, and nothing after it. */
  close(): void;
}

/**
 * An upsert costs the server more than a step of a quick run does. So a phase that follows another within this time is
 * not shown, unless the run waits for someone, or is over: a list shows where a run is to the second, and no run writes
 * only to be seen. The time is what the work took by its own account, and not the clock's: which command is written must
 * not depend on the clock.
 */
const PHASE_SETTLES_MS = 1_000;

export function createRunPage(run: Run): RunPage {
  const shown = givenAtStart();
  const late = createLatePhases(run, shown.size > 0, show);
  let shownAt = shown.size > 0 ? 0 : Number.NEGATIVE_INFINITY;

  function show(): void {
    setCurrentDetails(details(run));
    const changed = changes(run, shown);
    if (changed.length === 0) return;
    if (run.pinned?.revision === undefined) {
      if (late.isDue(changed)) upsert(changed);
      return;
    }
    const isQuick = run.worked_ms - shownAt < PHASE_SETTLES_MS && waitsFor(run) === undefined;
    if (!isQuick || changed.some(([name]) => name !== 'PerdurePhase')) upsert(changed);
  }

  function upsert(changed: Change[]): void {
    shownAt = run.worked_ms;
    late.shown();
    for (const [name, value] of changed) shown.set(name, value);
    upsertSearchAttributes(changed.map(([name, value]) => ({ key: { name, type: 'KEYWORD' }, value })));
  }

  return {
    show,
    refresh: () => setCurrentDetails(details(run)),
    pauseChanged() {
      if (run.pinned?.revision === undefined) setCurrentDetails(details(run));
      else show();
    },
    close() {
      late.stop();
      setCurrentDetails(details(run));
      const changed = changes(run, shown);
      if (changed.length > 0) upsert(changed);
    },
  };
}

/** The kind of the pause that has been open longest, here or below. */
function waitsFor(run: Run): AwaitKind | undefined {
  const [own] = openAwaits(run);
  if (own !== undefined) return own.kind;
  for (const [first] of run.child_awaits.values()) if (first !== undefined) return first.kind;
  return undefined;
}

/**
 * Whoever started the run may have set them. A part that continues another has attributes too, which are of no use
 * here: what it wrote before this was looked at must be written again on replay. No run has shown `prompted` itself.
 */
function givenAtStart(): Map<SearchAttributeName, string | null> {
  const given = new Map(
    workflowInfo()
      .typedSearchAttributes.getAll()
      .map(({ key, value }) => [key.name, value]),
  );
  if (given.get('PerdurePhase') !== 'prompted') return new Map();
  return new Map(
    SEARCH_ATTRIBUTES.flatMap((name) => {
      const value = given.get(name);
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );
}

/** Null: it is not set any more. */
export type Change = [SearchAttributeName, string | null];

function changes(run: Run, shown: ReadonlyMap<SearchAttributeName, string | null>): Change[] {
  const allowed = run.pinned?.spec.search_attributes ?? [];
  const wanted: Attributes = attributesOf(run.handle, run.phase, run);
  if (run.pinned?.revision !== undefined) wanted.PerdureWaiting = waitsFor(run) ?? null;
  return Object.entries(wanted).filter(
    (entry): entry is Change =>
      entry[1] !== undefined &&
      allowed.includes(entry[0] as SearchAttributeName) &&
      (shown.get(entry[0] as SearchAttributeName) ?? null) !== entry[1],
  );
}

/** Those of a child, for its start. */
export function childAttributes(run: Run, child: { run_id: string; agent_id: string }) {
  const { root_run_id, thread_id, run_id } = run.handle;
  const allowed = run.pinned?.spec.search_attributes ?? [];
  const handle = { ...child, root_run_id, parent_run_id: run_id, thread_id };
  return Object.entries(attributesOf(handle, 'prompted', run)).flatMap(([name, value]) =>
    value == null || !allowed.includes(name as SearchAttributeName)
      ? []
      : [{ key: { name, type: 'KEYWORD' as const }, value }],
  );
}

type Attributes = Partial<Record<SearchAttributeName, string | null | undefined>>;

function attributesOf(
  handle: Omit<RunHandle, 'thread_id'> & { thread_id?: string | undefined },
  phase: RunPhase | undefined,
  { pinned }: Run,
): Attributes {
  return {
    PerdureAgentId: handle.agent_id,
    PerdurePhase: phase,
    PerdureRootRunId: handle.root_run_id,
    PerdureParentRunId: handle.parent_run_id,
    PerdureThreadId: handle.thread_id,
    PerdureOrgId: pinned?.request.org_id,
    PerdureCreatedBy: pinned?.request.created_by,
  };
}

function details(run: Run): string {
  const { usage, steps } = run.counters;
  const limits = run.pinned?.spec.limits.run ?? {};
  const of = (used: number, maximum: number | undefined) =>
    maximum === undefined ? `${used}` : `${used} of ${maximum}`;
  const lines = [
    `### ${run.handle.agent_id}: ${run.phase ?? 'prompted'}`,
    '',
    `- run ${code(run.handle.run_id)}${run.handle.thread_id === undefined ? '' : `, thread ${code(run.handle.thread_id)}`}`,
    `- steps ${of(steps, limits.max_steps)}, tool calls ${of(usage.tool_calls, limits.max_tool_calls)}, tokens ${of(usage.total_tokens, limits.max_tokens)}`,
    ...(Object.keys(treeLimits(run)).length === 0 && run.tree.settled.model_calls === 0
      ? []
      : [treeLine(treeUsage(run), treeLimits(run))]),
    `- log: ${run.log.events.length} events (query \`read_log\`, or ${code(`npx perdure inspect ${run.handle.run_id}`)})`,
  ];
  if (run.pinned)
    lines.push(`- model ${code(run.pinned.spec.model.model)} (profile ${plain(run.pinned.spec.model.profile)})`);
  for (const entry of openAwaits(run)) {
    const calls = entry.calls.map((call) => `${call.name} ${call.arguments}`).join(', ');
    const about = entry.question === undefined ? code(clip(calls, 500)) : plain(clip(entry.question, 500));
    const digest = entry.digest === undefined ? '' : `, digest ${code(entry.digest)}`;
    const see = code(`npx perdure answer ${run.handle.run_id}`);
    lines.push(`- **waits** ${code(entry.await_id)} (${entry.kind}${digest}): ${about}; see ${see}`);
  }
  for (const child of run.paused_children) lines.push(`- child ${link(child)} waits for people`);
  if (run.handle.parent_run_id !== undefined) {
    lines.push(`- parent ${link(run.handle.parent_run_id)}, root ${link(run.handle.root_run_id)}`);
  }
  for (const event of run.log.events) {
    if (event.type === 'agent_run_started') lines.push(`- child ${event.link.agent_id} ${link(event.link.run_id)}`);
  }
  lines.push('', `**Input** ${plain(clip(inputText(run), 200))}`);
  if (run.cancellation) {
    const note = run.cancellation.note === undefined ? '' : `: ${plain(clip(run.cancellation.note))}`;
    lines.push(
      '',
      `**${run.phase === 'canceled' ? 'Canceled' : 'Cancel requested'}** ${run.cancellation.reason}${note}`,
    );
  }
  const last = run.log.events.at(-1);
  if (last?.type === 'run_completed') {
    if (last.status === 'success') lines.push('', '**Answer**', '', ...quotedLines(clip(last.answer)));
    if (last.status === 'failed')
      lines.push(
        '',
        `**Failed** ${code(last.failure.code)}: ${plain(clip(engineMessage(last.failure).replaceAll(/\n\s+at [^\n]*/g, '')))}`,
      );
  }
  // The UI's frame is a line too short: the last one is never seen.
  return [...lines, '', '\u00a0'].join('\n');
}

function treeLine(usage: RunUsage, limits: Limits): string {
  const of = (used: number, maximum: number | undefined) =>
    maximum === undefined ? `${used}` : `${used} of ${maximum}`;
  const cost =
    usage.cost_usd === undefined
      ? ''
      : `, ${of(Math.round(usage.cost_usd * 10_000) / 10_000, limits.max_cost_usd)} USD`;
  return `- tree: steps ${of(usage.steps ?? 0, limits.max_steps)}, tool calls ${of(usage.tool_calls, limits.max_tool_calls)}, tokens ${of(usage.total_tokens, limits.max_tokens)}, children ${of(usage.children ?? 0, limits.max_children)}${cost}`;
}

/** Opens the run in the UI. */
function link(runId: string): string {
  return `[${plain(runId)}](/namespaces/${workflowInfo().namespace}/workflows/${encodeURIComponent(runId)})`;
}

/** The server takes 20,000 bytes of details. */
function clip(text: string, most = 3000): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function inputText(run: Run): string {
  const [started] = run.log.events;
  if (started?.type !== 'run_started') return '';
  const { input } = started;
  return typeof input === 'string'
    ? input
    : input.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
}
