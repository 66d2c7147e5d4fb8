/** The consumer's router: the contract's order to the letter, and nothing on the wire can break it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRouter } from '../../../dialects/index.js';
import type { Routed } from '../../../dialects/index.js';
import { anyText } from '../../contract/any-text.js';

const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const run_id = 'run_1';

function routed(...events: Record<string, unknown>[]): Routed[] {
  const router = createRouter();
  return events.flatMap((event) => router.accept({ run_id, ...event }));
}

const content = (text: string) => ({ type: 'content', content: text });

describe('content', () => {
  it('that begins like an entry opens a buffer, which takes what follows until the run is complete', () => {
    const entry = '✅ NVIDIA | $60,922M\n📖 Reading scratchpad...StatusEvent(x)';
    expect(
      routed(
        content('✅ NVIDIA'),
        content(' | $60,922M\n'),
        content('📖 Reading scratchpad...'),
        content('StatusEvent(x)'),
        { type: 'status', status: 'complete' },
        content('after'),
      ),
    ).toEqual([
      { to: 'scratchpad', run_id, operation: 'append', status: 'success', tool: null, activity: null, entry },
      { to: 'done', run_id },
      { to: 'chat', run_id, text: 'after' },
    ]);
  });

  it.each(['📌', '✅', '🔄', '❓', '⚠️', '☠️'])('that begins with %s ends the entry before it', (prefix) => {
    const router = createRouter();
    router.accept({ run_id, ...content('📌 first') });
    expect(router.accept({ run_id, ...content(`${prefix} second`) })).toMatchObject([{ entry: '📌 first' }]);
    expect(router.end()).toMatchObject([{ to: 'scratchpad', entry: `${prefix} second` }]);
  });

  it('is gathered for each run apart, and given out when that run fails', () => {
    const router = createRouter();
    router.accept({ run_id: 'a', ...content('📌 of a') });
    expect(router.accept({ run_id: 'b', ...content('of b') })).toEqual([{ to: 'chat', run_id: 'b', text: 'of b' }]);
    expect(router.accept({ type: 'error', run_id: 'a', error: 'timed out' })).toMatchObject([
      { to: 'scratchpad', entry: '📌 of a' },
      { to: 'error', run_id: 'a', error: 'timed out' },
    ]);
  });

  it('of the old kind is parsed and goes to the web status', () => {
    const said = `StatusEvent(type='status', status='running', tool="read_web_page", message='It\\'s \\"on\\"', n=3)`;
    expect(routed(content(said))).toEqual([
      { to: 'web_status', run_id, tool: 'read_web_page', status: 'in_progress', message: `It's "on"` },
    ]);
    expect(routed(content('StatusEvent(what?)'))).toEqual([
      { to: 'web_status', run_id, tool: 'web_search', status: 'in_progress', message: 'what?' },
    ]);
  });

  it('of the old kind takes not much longer for one long word than for many short ones', () => {
    const fastest = (inside: string) => {
      const times = Array.from({ length: 3 }, () => {
        const began = performance.now();
        expect(routed(content(`StatusEvent(${inside})`))).toMatchObject([{ to: 'web_status', message: inside }]);
        return performance.now() - began;
      });
      return Math.min(...times);
    };
    // Read again from each of its letters, the word takes a thousand times as long.
    expect(fastest('a'.repeat(40_000)) / fastest('a '.repeat(20_000))).toBeLessThan(50);
  });

  it.each([
    '📖 Scratchpad read.',
    ' ✏️ Updating scratchpad...\n',
    'Validation error: no entry',
    'Memory synchronized.',
  ])('that is bleed is swallowed: %s', (bleed) => expect(routed(content(bleed))).toEqual([]));

  it('that begins with the guard is chat without it', () => {
    expect(routed(content('\u2060✅ done'), content('\u2060\u2060x'), content('🛑 Search first.'))).toEqual([
      { to: 'chat', run_id, text: '✅ done' },
      { to: 'chat', run_id, text: '\u2060x' },
      { to: 'chat', run_id, text: '🛑 Search first.' },
    ]);
  });
});

describe('tools', () => {
  const web = { to: 'web_status', run_id, tool: 'browse', status: 'in_progress', message: '' };
  const research = { to: 'research_status', run_id, tool: 'add_item', status: 'in_progress', activity: '' };

  it.each(['tool_call_start', 'tool_call_manifest'])('%s goes by the tool', (type) => {
    expect(routed({ type, tool: 'browse', args: {} })).toEqual([web]);
    expect(routed({ type, tool: 'add_item', args: {} })).toEqual([research]);
    expect(routed({ type, tool: 'write_scratchpad', args: {} })).toEqual([]);
  });

  it('web_status reads status and message, and is research for another tool', () => {
    const fields = { type: 'web_status', status: 'done', message: 'm', state: 'failed', activity: 'a' };
    expect(routed({ ...fields, tool: 'browse' })).toEqual([{ ...web, status: 'success', message: 'm' }]);
    expect(routed({ ...fields, tool: 'add_item' })).toEqual([{ ...research, status: 'success', activity: 'm' }]);
    expect(routed({ ...fields, tool: 'scratchpad' })).toEqual([]);
  });

  it('research_status reads state and activity, and of a scratchpad only an end with data', () => {
    const fields = { type: 'research_status', status: 'done', message: 'm', state: 'failed', activity: 'a' };
    expect(routed({ ...fields, tool: 'browse' })).toEqual([{ ...web, status: 'error', message: 'a' }]);
    expect(routed({ ...fields, tool: 'add_item' })).toEqual([{ ...research, status: 'error', activity: 'a' }]);
    expect(routed({ ...fields, tool: 'read_scratchpad' })).toEqual([]);
    expect(routed({ ...fields, tool: 'read_scratchpad', data: 'x', state: 'running' })).toEqual([]);
    expect(routed({ ...fields, tool: 'read_scratchpad', data: 'x' })).toMatchObject([{ to: 'scratchpad', entry: 'x' }]);
  });

  it.each([
    ['started', 'in_progress'],
    ['running', 'in_progress'],
    ['in_progress', 'in_progress'],
    ['complete', 'success'],
    ['completed', 'success'],
    ['done', 'success'],
    ['success', 'success'],
    ['inference_complete', 'success'],
    ['failed', 'error'],
    ['error', 'error'],
    ['warning', 'warning'],
    ['toString', 'in_progress'],
  ])('%s is shown as %s', (word, status) => {
    expect(routed({ type: 'code_status', tool: 'x', state: word, activity: '' })).toMatchObject([{ status }]);
    expect(routed({ type: 'scratchpad_status', operation: 'read', state: word })).toMatchObject([{ status }]);
  });

  it('a file is shown once, code and output as they come', () => {
    const file = { type: 'generated_file', filename: 'a.csv', mime_type: 'text/csv', file_id: 'f', base64: 'YQ==' };
    expect(
      routed(
        file,
        { ...file, type: 'code_interpreter_file' },
        { type: 'hot_code', content: 'a' },
        { type: 'computer_output', content: 'b' },
      ),
    ).toEqual([
      { to: 'file', run_id, file_id: 'f', filename: 'a.csv', mime_type: 'text/csv', base64: 'YQ==' },
      { to: 'code', run_id, text: 'a' },
      { to: 'code_output', run_id, text: 'b' },
    ]);
  });

  it.each([
    { type: 'activity' },
    { type: 'scratchpad' },
    { type: 'status', status: 'running' },
    { type: 'of_tomorrow' },
    { type: 'constructor' },
  ])('what is retired or unknown is passed over: %j', (event) =>
    expect(routed({ tool: 'x', state: 'running', activity: 'a', ...event })).toEqual([]),
  );
});

describe('lines', () => {
  it('that are not of the contract are passed over, such as those of the transport', () => {
    const router = createRouter();
    const lines = [
      { perdure: 'warning', run_id, message: 'The run waits.' },
      { perdure: 'end', reason: 'completed', status: 'success', run_id, cursor: '3.0' },
      { something: 'else' },
      { type: 'of_tomorrow', run_id },
    ];
    expect(router.push(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))).toEqual([]);
    expect(router.end()).toEqual([]);
  });

  it('may be blank, broken, without an end, and too deep in nonsense to be events', () => {
    const router = createRouter();
    const lines = [
      '',
      '   ',
      '{"half',
      '[1]',
      'null',
      '{"type":"content","content":"no run"}',
      '{"type":7}',
      '{"type":"new"}',
    ];
    const told = router.push(lines.map((line) => `${line}\r\n`).join(''));
    expect(told).toMatchObject([
      { to: 'broken', count: 1, line: '{"half\r', reason: 'it is no JSON' },
      { to: 'broken', count: 2, reason: 'it is no JSON object' },
      { to: 'broken', count: 3, reason: 'it is no JSON object' },
      { to: 'broken', count: 4, reason: 'a content has no run_id' },
      { to: 'broken', count: 5, reason: 'its type is no text' },
    ]);
    const marked = '\ufeff{"type":"content","run_id":"r","content":"behind a mark"}\n';
    expect(router.push(marked)).toEqual([{ to: 'chat', run_id: 'r', text: 'behind a mark' }]);
    expect(createRouter().push(Buffer.from(marked))).toEqual([{ to: 'chat', run_id: 'r', text: 'behind a mark' }]);
    router.push('{"type":"content","run_id":"r","content":"the last"}');
    expect(router.end()).toEqual([{ to: 'chat', run_id: 'r', text: 'the last' }]);
  });

  it(`are the same however their bytes or characters are cut (PERDURE_SEED=${SEED})`, () => {
    const text = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (texts, sizes) => {
          const wire = texts
            .map((each) => `${JSON.stringify({ type: 'reasoning', run_id, content: each })}\n`)
            .join('');
          const whole = texts.map((each) => ({ to: 'reasoning', run_id, text: each }));
          for (const all of [wire, new TextEncoder().encode(wire)]) {
            const router = createRouter();
            const told: Routed[] = [];
            for (let from = 0; from < all.length;) {
              const size = sizes.next().value;
              told.push(...router.push(all.slice(from, from + size)));
              from += size;
            }
            expect([...told, ...router.end()]).toEqual(whole);
          }
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });
});

describe(`fuzz (PERDURE_SEED=${SEED})`, () => {
  const BLEED = ['📖 Reading scratchpad...', '✏️ Scratchpad updated.', 'Accessing memory...', 'Scratchpad error:'];
  const LINES = 100_000;
  const TYPES =
    'content content content reasoning web_status research_status scratchpad_status status tool_call_start code_status ' +
    'error generated_file hot_code activity __proto__ toString';
  const type = fc.constantFrom(...TYPES.split(' '));
  const words = fc.oneof(
    fc.constantFrom(...BLEED, 'StatusEvent(', '✅ ', '⚠️', '\u2060', 'complete', 'browse', 'scratchpad'),
    anyText,
  );
  const value = fc.oneof(
    { weight: 5, arbitrary: words.chain((a) => words.map((b) => a + b)) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const event = fc.record(
    {
      type,
      run_id: fc.nat(50).map(String),
      content: value,
      status: fc.oneof(fc.constant('complete'), value),
      state: value,
      tool: value,
      message: value,
      activity: value,
      entry: value,
      operation: value,
      data: value,
      file_id: value,
    },
    { requiredKeys: ['type', 'run_id'] },
  );
  const line = fc.oneof(
    { weight: 6, arbitrary: event.map((each) => JSON.stringify(each)) },
    { weight: 1, arbitrary: anyText },
  );

  /** A corpus is made once and then mixed and mutated, which is much faster than as many values of the generator. */
  const corpus = fc.sample(line, { seed: SEED, numRuns: 4_000 });

  function mutated(text: string, random: () => number): string {
    const [put, place] = [corpus[random() % corpus.length] ?? '', random() % (text.length + 1)];
    const piece = put.slice(random() % (put.length + 1)).slice(0, random() % 12);
    return text.slice(0, place) + piece + text.slice(place + (random() % 4));
  }

  it(`takes ${LINES} random and mutated lines without throwing, and shows no bleed as chat`, () => {
    const random = randomNumbers(SEED);
    const seen = new Set<string>();
    let chats = 0;
    let router = createRouter();
    for (let n = 0; n < LINES; n++) {
      const original = corpus[n % corpus.length] ?? '';
      const each = n < corpus.length || random() % 3 > 0 ? mutated(original, random) : original;
      // A guarded text is the answer itself, and allowed to say anything.
      const guarded = each.includes('\u2060') || each.includes('\\u2060');
      const told = router.push(`${each}\n`);
      if (n % 100 === 99) {
        told.push(...router.end());
        router = createRouter();
      }
      for (const item of told) {
        seen.add(item.to);
        if (item.to !== 'chat' || guarded) continue;
        chats += 1;
        const start = item.text.trimStart();
        if (BLEED.some((bleed) => start.startsWith(bleed))) throw new Error(`bleed as chat: ${each}`);
      }
    }
    expect(chats).toBeGreaterThan(LINES / 100);
    const places = 'broken chat code done error file reasoning research_status scratchpad web_status';
    expect([...seen].sort().join(' ')).toBe(places);
  });
});

function randomNumbers(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
