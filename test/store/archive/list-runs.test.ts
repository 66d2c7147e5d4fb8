/** Lists, searches, counts and deletions of the archive, beside the same in memory. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createArchive } from '../../../store/archive/archive.js';
import type { Archive } from '../../../store/archive/archive.js';
import type { ArchiveFilter } from '../../../store/archive/list-runs.js';
import { wordsOf } from '../../../store/archive/words-of.js';
import { onBothDatabases } from '../databases.js';
import type { Place } from '../databases.js';
import { eventsOf, runOf } from './runs.js';
import type { Given } from './runs.js';

const DAY = Date.UTC(2026, 0, 1);
const at = (minutes: number) => new Date(DAY + minutes * 60_000).toISOString();
const oneOf = <T>(...values: T[]) => fc.constantFrom(...values);
const maybe = <K extends string, T>(name: K, value: fc.Arbitrary<T>) =>
  fc
    .option(value, { nil: undefined })
    .map((given) => (given === undefined ? {} : { [name]: given }) as { [k in K]?: T });

const texts = oneOf('refund of order 4711', 'Refunds, please!', 'Café, naïve', 'CAFE noir', '天気はどう', '4711', '…');
const anyRun = fc
  .tuple(
    fc.record({
      agent_id: oneOf('a.one', 'a.two'),
      status: oneOf('success' as const, 'failed' as const),
      input: texts,
      minutes: fc.integer({ min: 0, max: 4_000 }),
      model: oneOf('m1', 'm2'),
      tools: fc.subarray(['t.a.x', 't.a.y']),
    }),
    maybe('org_id', oneOf('acme', 'globex')),
    maybe('created_by', oneOf('ann', 'bob')),
    maybe('thread_id', oneOf('thr_1', 'thr_2')),
    maybe('parent_run_id', oneOf('root')),
    maybe('answer', texts),
    maybe('cost_usd', oneOf(0, 0.5, 1.25)),
  )
  .map(([{ minutes, tools, ...run }, ...given]) => {
    const { org_id: _o, created_by: _c, answer: _a, cost_usd: _u, ...bare } = runOf('');
    return {
      ...bare,
      ...run,
      ...(Object.assign({}, ...given) as Partial<Given>),
      started_at: at(minutes),
      ended_at: at(minutes + 30),
      tools: tools.map((tool_id) => ({ tool_id, count: 2, failures: 1 })),
    };
  });
const anyFilter = fc
  .tuple(
    maybe('org_id', oneOf('acme', 'globex', 'nobody')),
    maybe('created_by', oneOf('ann', 'bob')),
    maybe('agent_id', oneOf('a.one')),
    maybe('thread_id', oneOf('thr_1')),
    maybe('roots', oneOf(true, false)),
    maybe('status', oneOf('success' as const, 'failed' as const)),
    maybe('started_from', oneOf(at(500), at(2_000))),
    maybe('started_before', oneOf(at(2_500), at(3_500))),
    maybe('tool_id', oneOf('t.a.x')),
    maybe('min_cost_usd', oneOf(0.5)),
    maybe('max_cost_usd', oneOf(0.5)),
    maybe('text', oneOf('refund', 'REFUNDS', 'cafe', 'café noir', '4711 order', '天気', 'or', 'ord', '', '?!')),
  )
  .map((parts) => Object.assign({}, ...parts) as ArchiveFilter);

/** What the filter means, without a database. */
function isMeant(run: Given, filter: ArchiveFilter): boolean {
  const { started_from, started_before, min_cost_usd, max_cost_usd, text, tool_id, roots, ...same } = filter;
  const words = wordsOf(run.input, run.answer);
  const has = (word: string) => words.some((known) => (word.length < 3 ? known === word : known.startsWith(word)));
  return (
    Object.entries(same).every(([name, value]) => run[name as keyof Given] === value) &&
    (roots !== true || run.parent_run_id === undefined) &&
    (started_from === undefined || run.started_at >= started_from) &&
    (started_before === undefined || run.started_at < started_before) &&
    (min_cost_usd === undefined || (run.cost_usd ?? -1) >= min_cost_usd) &&
    (max_cost_usd === undefined || (run.cost_usd ?? 9) <= max_cost_usd) &&
    (tool_id === undefined || run.tools.some((tool) => tool.tool_id === tool_id)) &&
    (text === undefined || (wordsOf(text).length > 0 && wordsOf(text).every(has)))
  );
}

async function allPages(archive: Archive, filter: ArchiveFilter, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await archive.listRuns(filter, cursor, limit);
    expect(page.runs.length).toBeLessThanOrEqual(limit);
    found.push(...page.runs.map(({ run_id }) => run_id));
    if (page.next_cursor === undefined) return found;
    expect(page.runs).toHaveLength(limit);
    cursor = page.next_cursor;
  }
}

onBothDatabases('a list of archived runs', (fresh) => {
  let place: Place;
  let archive: Archive;
  beforeEach(async () => {
    place = await fresh();
    archive = createArchive(await place.open());
  });
  const put = (id: string, more: Partial<Given> = {}) => archive.putRun(runOf(id, more), eventsOf(id));

  it('has those that are meant, all of them, each once and the newest first, whatever the filter and the page', async () => {
    const made = fc.sample(anyRun, { numRuns: 150, seed: 7 }).map((run, n) => ({ ...run, run_id: `run-${n}` }));
    for (const run of made) await archive.putRun(run, eventsOf(run.run_id));
    await fc.assert(
      fc.asyncProperty(anyFilter, fc.integer({ min: 1, max: 60 }), async (filter, limit) => {
        const found = await allPages(archive, filter, limit);
        const meant = made.filter((run) => isMeant(run, filter));
        expect(found.toSorted()).toEqual(meant.map(({ run_id }) => run_id).toSorted());
        const times = found.map((id) => made.find(({ run_id }) => run_id === id)?.started_at ?? '');
        expect(times).toEqual(times.toSorted().toReversed());
      }),
      { numRuns: 150 },
    );
  });

  it('shows of each what it is, and how its input begins', async () => {
    const { input: _i, answer: _a, metadata: _m, tools: _t, ...summary } = runOf('one');
    await put('one', { input: `begins so${' and on'.repeat(100)}` });
    const { runs } = await archive.listRuns({}, undefined, 10);
    expect(runs).toEqual([{ ...summary, tail: 3, input_start: `begins so${' and on'.repeat(100)}`.slice(0, 200) }]);
  });

  it('goes on where it was, whoever comes and goes between two pages', async () => {
    for (let n = 0; n < 30; n++) await put(`run-${n}`, { started_at: at(n), ended_at: at(n + 1) });
    const first = await archive.listRuns({ org_id: 'acme' }, undefined, 10);
    await put('newer', { started_at: at(100), ended_at: at(101) });
    await put('older', { started_at: at(0.5), ended_at: at(1) });
    await archive.deleteRun(first.runs.at(-1)?.run_id ?? '');
    await archive.deleteRun('run-15');
    const rest: string[] = [];
    for (let cursor = first.next_cursor; cursor !== undefined;) {
      const page = await archive.listRuns({ org_id: 'acme' }, cursor, 10);
      rest.push(...page.runs.map(({ run_id }) => run_id));
      cursor = page.next_cursor;
    }
    const expected = Array.from({ length: 20 }, (_, n) => `run-${19 - n}`).filter((id) => id !== 'run-15');
    expect(rest).toEqual([...expected.slice(0, -1), 'older', 'run-0']);
  });

  it('refuses a cursor, a time and a size that are none', async () => {
    for (const cursor of [
      '',
      'x',
      Buffer.from('1.5').toString('base64url'),
      Buffer.from("1' or 1").toString('base64url'),
    ]) {
      await expect(archive.listRuns({}, cursor, 10)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await expect(archive.listRuns({ started_from: 'soon' }, undefined, 10)).rejects.toThrow(/"soon" is no time/);
    for (const limit of [0, 501, 1.5, Number.NaN]) {
      await expect(archive.listRuns({}, undefined, limit)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('is searched for any text without an error, and for what is meant as a search by nobody', async () => {
    await put('one', { input: "it's a test" });
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      oneOf('"', "'", 'a OR b', 'NEAR(a b)', "test' & !b", 'input:test', '*', '\0'),
    );
    await fc.assert(
      fc.asyncProperty(text, async (asked) => {
        const { runs } = await archive.listRuns({ text: asked }, undefined, 10);
        const isThere = isMeant(runOf('one', { input: "it's a test" }), { text: asked });
        expect(runs.map(({ run_id }) => run_id)).toEqual(isThere ? ['one'] : []);
      }),
      { numRuns: 200 },
    );
  });

  describe('what is deleted', () => {
    const left = async () => (await archive.listRuns({}, undefined, 100)).runs.map(({ run_id }) => run_id).toSorted();

    it('goes with all that belongs to it, and is found by nothing', async () => {
      await put('one');
      await put('two');
      expect(await archive.deleteRun('one')).toBe(true);
      expect(await archive.deleteRun('one')).toBe(false);
      expect(await archive.getRun('one')).toBeUndefined();
      expect(
        (await archive.listRuns({ text: 'weather', tool_id: 'web.search.search' }, undefined, 9)).runs,
      ).toHaveLength(1);
      const { query } = await place.open();
      for (const table of ['run_texts', 'run_events', 'run_tools'] as const) {
        expect(await query.selectFrom(table).select('run').execute()).toHaveLength(1);
      }
      await expect(archive.readEvents('one').next()).rejects.toMatchObject({ code: 'unknown_run' });
    });

    it('is all of an org, of a user of an org or of a thread, and nothing of others', async () => {
      await put('a', { thread_id: 'thr_1' });
      await put('b', { created_by: 'bob' });
      await put('c', { org_id: 'globex' });
      const { org_id: _o, ...orgless } = runOf('d');
      await archive.putRun(orgless, eventsOf('d'));
      await put('e', { thread_id: 'thr_1', created_by: 'bob' });
      expect(await archive.deleteBy({ thread_id: 'thr_1' })).toBe(2);
      expect(await left()).toEqual(['b', 'c', 'd']);
      expect(await archive.deleteBy({ org_id: 'acme', user_id: 'ann' })).toBe(0);
      expect(await archive.deleteBy({ org_id: null, user_id: 'ann' })).toBe(1);
      expect(await archive.deleteBy({ org_id: 'acme', user_id: 'bob' })).toBe(1);
      expect(await archive.deleteBy({ org_id: 'globex' })).toBe(1);
      expect(await left()).toEqual([]);
    });

    it('does not come back by a late write; what begins afterwards is welcome', async () => {
      const [past, future] = ['2026-01-01T00:00:00.000Z', new Date(Date.now() + 60_000).toISOString()];
      await archive.deleteRun('gone');
      await archive.deleteBy({ thread_id: 'thr_gone' });
      await archive.deleteBy({ org_id: 'left' });
      await archive.deleteBy({ org_id: 'acme', user_id: 'eve' });
      expect(await put('gone')).toBe('deleted');
      expect(await put('a', { thread_id: 'thr_gone', started_at: past })).toBe('deleted');
      // Its turns are gone, whatever the clocks say.
      expect(await put('thr_gone/turn_1', { thread_id: 'thr_gone', started_at: future })).toBe('deleted');
      expect(await put('thr_gone/turn_1/call_1_1', { thread_id: 'thr_gone', started_at: future })).toBe('deleted');
      expect(await put('b', { org_id: 'left', started_at: past })).toBe('deleted');
      expect(await put('c', { created_by: 'eve', started_at: past })).toBe('deleted');
      expect(await left()).toEqual([]);
      expect(await put('d', { org_id: 'left', started_at: future })).toBe('stored');
      expect(await put('e', { created_by: 'eve', started_at: future })).toBe('stored');
      expect(await put('f', { created_by: 'eve', org_id: 'globex' })).toBe('stored');
      // A run in the name of one's own deleted thread is in lists and sums like any other.
      expect(await put('g', { thread_id: 'thr_gone', started_at: future })).toBe('stored');
    });

    it('is gone in the end, also where it is written at the same time', async () => {
      const others = await Promise.all(Array.from({ length: 4 }, async () => createArchive(await place.open())));
      const ids = Array.from({ length: 40 }, (_, n) => `run-${n}`);
      const writing = ids.map((id, n) => others[n % 4]!.putRun(runOf(id, { org_id: 'left' }), eventsOf(id)));
      const deleting = archive.deleteBy({ org_id: 'left' });
      await Promise.all([...writing, deleting]);
      expect(await left()).toEqual([]);
    });

    it('can be many', async () => {
      for (let n = 0; n < 450; n++) await put(`run-${n}`, { org_id: n < 420 ? 'acme' : 'globex' });
      expect(await archive.deleteBy({ org_id: 'acme' })).toBe(420);
      expect(await left()).toHaveLength(30);
    });
  });
});

describe('words', () => {
  it.each([
    ['It’s 9 o’clock', ['it', 's', '9', 'o', 'clock']],
    ['Crème BRÛLÉE, crème', ['creme', 'brulee']],
    ['https://example.com/a_b?c=1', ['https', 'example', 'com', 'a', 'b', 'c', '1']],
    ['ＡＢＣ ﬁne', ['abc', 'fine']],
    ['天気はどう', ['天', '気', 'は', 'ど', 'う']],
    ['हिन्दी', ['हिन्दी']],
    ['x'.repeat(100), ['x'.repeat(64)]],
    ['', []],
  ])('of %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });
});
