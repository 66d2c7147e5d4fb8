/** No line breaks field ownership: not for the compiler, and not on the wire. PERDURE_SEED repeats a run. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContractLine } from '../../../dialects/event-contract/shapes.js';
import { openCall } from '../../../dialects/event-contract/tool-lines.js';
import { isDurable } from '../resume.js';
import { linesOf, tellAll } from '../tell-all.js';
import { randomRun } from '../random-runs.js';

const CASES = Number(process.env['PERDURE_CASES'] ?? 300);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);

/** The contract's own tables, written down once more. */
const FIELDS: Record<ContractLine['type'], readonly string[]> = {
  content: ['content'],
  reasoning: ['content'],
  web_status: ['status', 'tool', 'message'],
  research_status: ['tool', 'state', 'activity'],
  code_status: ['tool', 'state', 'activity'],
  scratchpad_status: ['operation', 'state', 'tool', 'activity', 'entry'],
  tool_call_start: ['tool', 'args'],
  status: ['status'],
  error: ['error'],
  generated_file: ['filename', 'mime_type', 'file_id', 'url'],
  hot_code: ['content'],
  hot_code_output: ['content'],
};
const WORDS = 'started running in_progress complete completed done success inference_complete failed error warning';
const WEB = 'perform_web_search read_web_page scroll_web_page search_web_page web_search browse'.split(' ');

it('does not compile a line with a field that another type owns', () => {
  const run_id = 'run_1';
  const lines: ContractLine[] = [
    // @ts-expect-error: `state` is not web_status's
    { type: 'web_status', run_id, status: 'running', tool: 'browse', message: '', state: 'running' },
    // @ts-expect-error: `message` is not research_status's
    { type: 'research_status', run_id, tool: 'x', state: 'running', activity: '', message: '' },
    // @ts-expect-error: `entry` is scratchpad_status's alone
    { type: 'content', run_id, content: '', entry: '' },
    // @ts-expect-error: no word of the table
    { type: 'code_status', run_id, tool: 'x', state: 'finished', activity: '' },
    // @ts-expect-error: retired
    { type: 'activity', run_id, tool: 'x', state: 'running', activity: '' },
  ];
  expect(lines).toHaveLength(5);
});

it.each(['append_scratchpad', 'write_scratchpad'])(
  'begins an entry of %s with its prefix, as the tool keeps it',
  (tool) => {
    expect(openCall(tool, JSON.stringify({ entry: '\n📌 a\n📌 b\n' })).entry).toBe('📌 a\n📌 b');
  },
);

describe(`lines of random runs (PERDURE_SEED=${SEED})`, () => {
  const seen = new Set<string>();

  it('have the fields that their type owns and no other, and only words of the table', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        for (const { data } of linesOf(tellAll('event_contract', stream))) {
          const { type, run_id, ...rest } = data;
          seen.add(String(type));
          const own = FIELDS[type as ContractLine['type']];
          expect(own, String(type)).toBeDefined();
          expect(run_id).toBe('run_1');
          expect(Object.keys(rest).filter((field) => !own.includes(field))).toEqual([]);
          const needed = own.filter((field) => field !== 'url');
          expect(needed.filter((field) => !(field in rest))).toEqual([]);
          const word = rest['state'] ?? (type === 'web_status' ? rest['status'] : 'started');
          expect(WORDS.split(' ')).toContain(word);
          if (type === 'web_status') expect(WEB).toContain(rest['tool']);
          if (type === 'research_status') expect(WEB).not.toContain(rest['tool']);
        }
      }),
      { seed: SEED, numRuns: CASES },
    );
    // A generator that never makes a type would prove nothing about it.
    expect(Object.keys(FIELDS).filter((type) => !seen.has(type))).toEqual(['generated_file']);
  });

  it('tell of each delegation exactly one end, and of each entry its three steps, but not of an empty one', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const log = stream.filter(isDurable);
        const lines = linesOf(tellAll('event_contract', stream)).map(({ data }) => data);
        const ends = lines.filter(
          ({ type, tool, state }) =>
            type === 'research_status' &&
            tool === 'delegate_research_task' &&
            (state === 'completed' || state === 'failed'),
        );
        const results = log.filter((event) => event.type === 'tool_result');
        expect(ends).toHaveLength(results.filter(({ name }) => name.endsWith('delegate_research_task')).length);
        const pads = results.filter(({ name }) => name.endsWith('_scratchpad'));
        const states = (word: string) =>
          lines.filter(({ type, state, activity }) => {
            const isReport = typeof activity === 'string' && activity.startsWith('report ');
            return type === 'scratchpad_status' && state === word && !isReport;
          });
        const written = pads.filter(({ status }) => status === 'success');
        const empty = log.flatMap((event) =>
          event.type === 'tool_requested' && (JSON.parse(event.arguments) as { entry: string }).entry.trim() === ''
            ? [event.tool_call_id]
            : [],
        );
        expect(states('in_progress')).toHaveLength(pads.length);
        expect(states('success')).toHaveLength(written.filter(({ tool_call_id: id }) => !empty.includes(id)).length);
        expect(states('completed')).toHaveLength(written.length);
        expect(
          states('success').every(({ tool, activity, entry }) => tool === null && activity === null && Boolean(entry)),
        ).toBe(true);
        expect(
          states('completed').every(
            ({ tool, activity, entry }) => tool !== null && activity !== null && entry === null,
          ),
        ).toBe(true);
      }),
      { seed: SEED, numRuns: CASES },
    );
  });

  it('show code once, live or with its call, whatever attempts there were', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const log = stream.filter(isDurable);
        const late = linesOf(tellAll('event_contract', log)).map(({ data }) => data);
        const live = linesOf(tellAll('event_contract', stream)).map(({ data }) => data);
        const code = (lines: typeof live, type: string) =>
          lines
            .filter((line) => line['type'] === type)
            .map(({ content }) => content)
            .join('');
        expect(code(live, 'hot_code')).toBe(code(late, 'hot_code'));
        expect(code(live, 'hot_code_output')).toBe(code(late, 'hot_code_output'));
        const written = log.flatMap((event) =>
          event.type === 'tool_requested' && event.name.endsWith('code_interpreter')
            ? [(JSON.parse(event.arguments) as { code: string }).code]
            : [],
        );
        expect(code(late, 'hot_code')).toBe(written.join(''));
      }),
      { seed: SEED, numRuns: CASES },
    );
  });
});
