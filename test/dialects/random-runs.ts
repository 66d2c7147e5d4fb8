/**
 * Random runs as a live reader gets them: the log, and between its events the live ones of attempts that win and
 * attempts that are given up. The words are those that dialects stumble over.
 */
import fc from 'fast-check';
import type { EventDraft } from '../../contract/events.js';
import type { LiveEvent, StreamEvent } from '../../contract/live-events.js';
import { handle, writtenLog } from '../contract/written-log.js';

const word = fc.constantFrom(
  'one ',
  'two ',
  'four.\n',
  '🙂',
  '👩‍🔬 ',
  '✅ done ',
  '⚠️ ',
  '☠',
  '📌',
  'StatusEvent(status="running")',
  'Accessing memory...',
  '📖 Reading scratchpad...',
  '✏️ Scratchpad updated.',
  'Scratchpad error: ',
  '\u2060',
  '  ',
  '\n\n',
  '\ud83d',
  '"\\',
);
const words = fc.array(word, { maxLength: 7 }).map((list) => list.join(''));
/** Two calls are written one after the other into one flow of code: half a character at an end would come late. */
const wholeWords = words.map((text) => text.replace(/[\ud800-\udbff]$/, ''));
const cuts = fc.array(fc.nat(1_000), { maxLength: 5 });

const block = fc.record({ kind: fc.constantFrom('text' as const, 'thinking' as const), text: words, cuts });
type Block = { kind: 'text' | 'thinking'; text: string; cuts: number[] };

const tools = [
  'web.pages.read_web_page',
  'desk.memory.append_scratchpad',
  'desk.memory.write_scratchpad',
  'lab.python.code_interpreter',
  'lab.python.code_interpreter',
  'research.agents.delegate_research_task',
  'shop.carts.add_item',
];
const call = fc.record({
  tool: fc.constantFrom(...tools),
  code: wholeWords,
  cuts,
  /** Which reports are heard live; all are committed. */
  progress: fc.array(fc.boolean(), { maxLength: 3 }),
  output: words,
  rest: words,
  outputCuts: cuts,
  fails: fc.boolean(),
  notice: fc.option(words, { nil: undefined }),
});
type Call = typeof call extends fc.Arbitrary<infer C> ? C : never;

const step = fc.record({
  blocks: fc.array(block, { maxLength: 3 }),
  calls: fc.array(call, { maxLength: 3 }),
  /** Attempts that were given up: how much of the winner's they said first, and what else. */
  dead: fc.array(fc.record({ shared: fc.nat(40), blocks: fc.array(block, { maxLength: 2 }) }), { maxLength: 2 }),
  /** No attempt won. */
  lost: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const run = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  end: fc.constantFrom('success', 'synthesis', 'failed', 'canceled'),
  summary: fc.record({ text: words, cuts }),
});

type Run = typeof run extends fc.Arbitrary<infer R> ? R : never;

export const randomRun: fc.Arbitrary<StreamEvent[]> = run.map(written);

/** No attempt is given up in it. */
export const calmRun: fc.Arbitrary<StreamEvent[]> = run.map((each) =>
  written({ ...each, steps: each.steps.map((calm) => ({ ...calm, dead: [], lost: false })) }),
);

function written({ steps, end, summary }: Run): StreamEvent[] {
  const items: Item[] = [{ type: 'run_started', input: 'go' }];
  steps.forEach((each, index) => items.push(...stepItems(each, index + 1)));
  const last = steps.length;
  const said = steps.at(-1)?.lost
    ? ''
    : (steps.at(-1)?.blocks ?? []).filter(({ kind }) => kind === 'text').map(({ text }) => text);
  const repeated = Array.isArray(said) ? said.join('') : said;
  if (end === 'synthesis') items.push(...synthesisItems(summary, last + 1));
  else if (end === 'success') items.push({ type: 'summary_final', step_id: `step_${last}`, text: repeated });
  items.push(ending(end, end === 'synthesis' ? summary.text : repeated));
  return asStream(items);
}

type Item = EventDraft | { live: Record<string, unknown> };

function stepItems({ blocks, calls, dead, lost }: Step, n: number): Item[] {
  const step_id = `step_${n}`;
  const attempts = dead.map((each) => [...sharedWith(blocks, each.shared), ...each.blocks]);
  const winner = dead.length + 1;
  const items: Item[] = [{ type: 'step_started', step_id, step_number: n, title: `Step ${n}` }];
  attempts.forEach((said, index) => {
    items.push(...liveBlocks(step_id, said, index + 1));
    items.push({
      live: { type: 'attempt_retracted', live_id: `${step_id}.retracted_${index + 1}`, step_id, attempt: index + 1 },
    });
  });
  if (lost) items.push(...liveBlocks(step_id, sharedWith(blocks, 10), winner));
  else
    items.push(
      ...liveBlocks(step_id, blocks, winner),
      ...calls.flatMap((each, index) => liveInput(step_id, each, index + 1, winner)),
    );
  if (lost || winner > 1) items.push({ type: 'attempt_retracted', step_id, attempt: lost ? winner : winner - 1 });
  if (!lost) items.push(...commits(step_id, blocks, winner), ...toolItems(n, calls));
  items.push({ type: 'step_completed', step_id, status: lost ? 'error' : 'completed', duration_ms: 1 });
  return items;
}

/** The beginning of the winner's blocks, cut after so many characters. */
function sharedWith(blocks: readonly Block[], length: number): Block[] {
  const shared: Block[] = [];
  let left = length;
  for (const each of blocks) {
    if (left <= 0) break;
    shared.push({ ...each, text: each.text.slice(0, left) });
    left -= each.text.length;
  }
  return shared;
}

function pieces(text: string, at: readonly number[]): string[] {
  const places = [...new Set(at.map((n) => n % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places]
    .map((from, index) => text.slice(from, places[index] ?? text.length))
    .filter((piece) => piece !== '');
}

function chunksOf(type: string, ids: Record<string, unknown>, text: string, at: readonly number[]): Item[] {
  return pieces(text, at).map((piece, index) => ({
    live: {
      type,
      live_id: `${String(ids['block_id'])}#${String(ids['attempt'])}.${index}`,
      ...ids,
      index,
      text: piece,
    },
  }));
}

function liveBlocks(step_id: string, blocks: readonly Block[], attempt: number): Item[] {
  return blocks.flatMap(({ kind, text, cuts: at }, index) => {
    const ids = { step_id, block_id: `${step_id}.block_${index + 1}`, attempt };
    const chunks = chunksOf(`${kind}_chunk`, ids, text, at);
    const start: Item = { live: { type: `${kind}_start`, live_id: `${ids.block_id}#${attempt}.start`, ...ids } };
    return chunks.length === 0 ? [] : [start, ...chunks];
  });
}

function liveInput(step_id: string, { tool, code, cuts: at }: Call, n: number, attempt: number): Item[] {
  const ids = { step_id, block_id: `${step_id}.input_${n}`, attempt, name: tool };
  return chunksOf('tool_input_chunk', ids, argumentsOf(code), at);
}

function argumentsOf(code: string): string {
  return JSON.stringify({ n: 1, code, entry: code });
}

function commits(step_id: string, blocks: readonly Block[], attempt: number): Item[] {
  return blocks.flatMap(({ kind, text }, index): Item[] => {
    const block_id = `${step_id}.block_${index + 1}`;
    return text === '' ? [] : [{ type: `${kind}_end`, step_id, block_id, attempt, text }];
  });
}

function toolItems(n: number, calls: readonly Call[]): Item[] {
  const ids = (index: number, tool: string) => ({
    step_id: `step_${n}`,
    tool_id: tool,
    tool_call_id: `call_${n}_${index + 1}`,
  });
  const requested = calls.map(({ tool, code }, index): Item => ({
    type: 'tool_requested',
    ...ids(index, tool),
    name: tool,
    arguments: argumentsOf(code),
  }));
  return [...requested, ...calls.flatMap((each, index) => callItems(each, ids(index, each.tool)))];
}

function callItems(
  { tool, progress, output, rest, outputCuts, fails, notice }: Call,
  ids: { step_id: string; tool_id: string; tool_call_id: string },
): Item[] {
  const reports = progress.map((live, index) => {
    const live_id = `${ids.tool_call_id}.progress_${index + 1}`;
    return { live, report: { type: 'tool_progress' as const, ...ids, message: `report ${live_id}`, live_id } };
  });
  const block = { ...ids, block_id: `${ids.tool_call_id}.output`, attempt: 1 };
  const outcome = { name: tool, content: output + rest, duration_ms: 1, attempts: 1 };
  const failure = { kind: 'internal' as const, message: 'no', issues: [], recovery: 'replan' as const };
  return [
    { type: 'tool_scheduled', ...ids, timeout_ms: 1 },
    ...reports.flatMap(({ live, report }): Item[] => (live ? [{ live: report }] : [])),
    ...chunksOf('tool_output_chunk', block, output, outputCuts),
    ...(notice === undefined ? [] : [{ type: 'notice_posted' as const, ...ids, text: notice }]),
    ...reports.map(({ report }) => report),
    fails
      ? { type: 'tool_result', ...ids, status: 'error', failure, ...outcome }
      : { type: 'tool_result', ...ids, status: 'success', ...outcome },
  ];
}

function synthesisItems({ text, cuts: at }: { text: string; cuts: number[] }, n: number): Item[] {
  const step_id = `step_${n}`;
  const ids = { step_id, block_id: `${step_id}.summary`, attempt: 1 };
  return [
    { type: 'step_started', step_id, step_number: n, title: 'Synthesis' },
    ...chunksOf('summary_chunk', ids, text, at),
    { type: 'summary_final', ...ids, text },
    { type: 'step_completed', step_id, status: 'completed', duration_ms: 1 },
  ];
}

function ending(end: string, answer: string): EventDraft {
  const usage = { model_calls: 1, tool_calls: 0, input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const rest = { usage, tree_usage: usage, duration_ms: 1 };
  if (end === 'canceled') {
    return {
      type: 'run_completed',
      status: 'canceled',
      phase: 'canceled',
      cancellation: { reason: 'user_requested' },
      ...rest,
    };
  }
  if (end !== 'failed') return { type: 'run_completed', status: 'success', phase: 'completed', answer, ...rest };
  const failure = { code: 'internal', message: 'It failed.', debug_message: 'why', retryable: false };
  return { type: 'run_completed', status: 'failed', phase: 'failed', failure, ...rest };
}

function asStream(items: readonly Item[]): StreamEvent[] {
  const log = writtenLog(items.filter((item): item is EventDraft => !('live' in item)));
  let next = 0;
  return items.map((item) =>
    'live' in item ? ({ ...handle, ...item.live } as unknown as LiveEvent) : (log[next++] as StreamEvent),
  );
}
