/** A tree of runs as rows, each with those below it: the runs, their tool calls, and what they wait for. */
import { ASK_CLARIFICATION_TOOL } from '../../contract/names.js';
import type { ToolSnapshot } from '../../contract/snapshot.js';
import type { RunUsage } from '../../contract/run.js';
import { answerCommand, choiceLines, expiry, questionLines } from '../describe-pause.js';
import { count, duration, line, withoutStack } from '../format.js';
import { ownPauses } from '../open-pauses.js';
import type { Pause } from '../open-pauses.js';
import { cancelReason } from '../view/tell.js';
import { treeUsage } from './watch-tree.js';
import type { RunNode } from '../../client/read-tree.js';

export type Tone = 'good' | 'bad' | 'stopped' | 'open' | 'waits' | 'none';

export interface Row {
  tone: Tone;
  /** Bold. */
  name?: string;
  text: string;
  /** At the end of the line, never cut. */
  facts?: string;
  /** Broken into several lines where it is too long, since it is meant to be copied. */
  whole?: boolean;
  rows: Row[];
}

/** `open`: of runs that are over only the head, of the others only calls that are open or have a child. */
export type Detail = 'all' | 'open';

export interface RowOptions {
  now: number;
  detail: Detail;
  /** With which another command finds the server. */
  flags: string;
}

export function treeRows(root: RunNode, options: RowOptions): Row {
  return runRow(root, pausesIn(root), options);
}

export function pausesIn({ snapshot, children }: RunNode): Pause[] {
  return [...(snapshot === undefined ? [] : ownPauses(snapshot)), ...children.flatMap(pausesIn)];
}

function runRow(node: RunNode, pauses: readonly Pause[], options: RowOptions): Row {
  const { snapshot, run_id, agent_id, children } = node;
  if (snapshot === undefined) return { tone: 'open', name: agent_id, text: run_id, facts: 'starting', rows: [] };
  const own = pauses.filter((pause) => pause.run_id === run_id);
  const isOver = snapshot.status !== 'running' || snapshot.engine_end !== undefined;
  const elapsed = snapshot.duration_ms ?? (isOver ? undefined : options.now - Date.parse(snapshot.started_at));
  const facts = [
    stateOf(node),
    ...(elapsed === undefined ? [] : [duration(Math.max(0, elapsed))]),
    spent(snapshot.usage),
    ...(children.length === 0 ? [] : [`tree ${spent(treeUsage(node))}`]),
  ];
  const tone = isOver
    ? toneOf(snapshot.engine_end === undefined ? snapshot.status : 'failed')
    : own.length > 0
      ? 'waits'
      : 'open';
  return {
    tone,
    name: agent_id,
    text: run_id,
    facts: facts.join(' · '),
    rows: rowsOf(node, own, pauses, isOver, options),
  };
}

function rowsOf(node: RunNode, own: Pause[], all: readonly Pause[], isOver: boolean, options: RowOptions): Row[] {
  const { snapshot, children } = node;
  if (snapshot === undefined || (isOver && options.detail === 'open')) return [];
  const left = new Set(own);
  const tools = snapshot.steps.flatMap((step) => step.tools);
  const rows = tools.flatMap((tool): Row[] => {
    const below = children.filter((child) => child.tool_call_id === tool.tool_call_id);
    const waiting = [...left].filter((pause) => isFor(pause, tool));
    for (const pause of waiting) left.delete(pause);
    if (options.detail === 'open' && !isOpen(tool) && below.length === 0) return [];
    return [
      toolRow(tool, [
        ...waiting.map((pause) => pauseRow(pause, all, options)),
        ...below.map((child) => runRow(child, all, options)),
      ]),
    ];
  });
  return [...rows, ...[...left].map((pause) => pauseRow(pause, all, options)), ...lastWords(node)];
}

function toolRow(tool: ToolSnapshot, rows: Row[]): Row {
  const { name, arguments: args, state, duration_ms, attempts = 1, failure_kind } = tool;
  const facts = [
    ...(failure_kind === undefined ? [] : [failure_kind]),
    ...(duration_ms === undefined ? [] : [duration(duration_ms)]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
  ].join(' · ');
  const waits = rows.some((row) => row.tone === 'waits' && row.name === undefined);
  const tone = waits ? 'waits' : isOpen(tool) ? 'open' : failure_kind === 'canceled' ? 'stopped' : toneOf(state);
  return { tone, text: `${name} ${args}`, ...(facts === '' ? {} : { facts }), rows };
}

function pauseRow(pause: Pause, all: readonly Pause[], { flags, now }: RowOptions): Row {
  const until = expiry(pause, now);
  const plain = (text: string, whole = false): Row => ({ tone: 'none', text, whole, rows: [] });
  const [first = '', ...more] = questionLines(pause);
  return {
    tone: 'waits',
    text: first,
    ...(until === undefined ? {} : { facts: until }),
    rows: [
      ...more.map((text) => plain(text)),
      ...(pause.choices === undefined ? [] : [plain(choiceLines(pause).join('  '))]),
      plain(answerCommand(pause, all, flags), true),
    ],
  };
}

/** How an ended run ended, in one line. */
function lastWords({ snapshot }: RunNode): Row[] {
  const row = (tone: Tone, text: string): Row => ({ tone, text: line(text, 400), rows: [] });
  if (snapshot?.engine_end?.type === 'stream_ended') return [row('bad', snapshot.engine_end.message)];
  if (snapshot?.failure !== undefined)
    return [row('bad', `${snapshot.failure.code}: ${withoutStack(snapshot.failure.debug_message)}`)];
  if (snapshot?.cancellation !== undefined) return [row('stopped', cancelReason(snapshot.cancellation))];
  return snapshot?.answer === undefined ? [] : [row('none', snapshot.answer)];
}

function isFor({ kind, calls = [] }: Pause, tool: ToolSnapshot): boolean {
  if (kind === 'clarification') return tool.tool_id === ASK_CLARIFICATION_TOOL && isOpen(tool);
  return calls.some((call) => call.tool_call_id === tool.tool_call_id);
}

function isOpen({ state }: ToolSnapshot): boolean {
  return state === 'requested' || state === 'scheduled';
}

function stateOf({ snapshot }: RunNode): string {
  if (snapshot?.engine_end?.type === 'stream_ended') return snapshot.engine_end.reason;
  if (snapshot === undefined) return '';
  return snapshot.status === 'running' ? snapshot.phase.replaceAll('_', ' ') : snapshot.status;
}

function spent({ total_tokens, tool_calls, cost_usd }: RunUsage): string {
  const cost = cost_usd === undefined ? '' : `, $${cost_usd.toFixed(4)}`;
  return `${count(total_tokens, 'token')}, ${count(tool_calls, 'tool')}${cost}`;
}

function toneOf(status: string): Tone {
  if (status === 'success') return 'good';
  return status === 'canceled' ? 'stopped' : 'bad';
}
