/** A run into the archive and out of it: whole, exactly, and once. */
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { createArchive } from '../../../store/archive/archive.js';
import type { Archive } from '../../../store/archive/archive.js';
import { startFixture } from '../fixture-process.js';
import { onBothDatabases } from '../databases.js';
import type { Place } from '../databases.js';
import { eventsOf, runOf } from './runs.js';

async function textsOf(archive: Archive, runId: string, from?: number): Promise<string[]> {
  const texts: string[] = [];
  let seq: number | undefined;
  for await (const event of archive.readEvents(runId, from)) {
    if (seq !== undefined) expect(event.seq).toBe(seq + 1);
    seq = event.seq;
    texts.push(event.text);
  }
  return texts;
}

onBothDatabases('a run in the archive', (fresh) => {
  let place: Place;
  let archive: Archive;
  beforeEach(async () => {
    place = await fresh();
    archive = createArchive(await place.open());
  });

  it('comes back as it was put, with all that it had, and with nothing that it had not', async () => {
    const full = runOf('full', {
      root_run_id: 'root',
      parent_run_id: 'root',
      thread_id: 'thr_1',
      status: 'failed',
      phase: 'failed',
      failure_code: 'model_overloaded',
      tools: [
        { tool_id: 'a.b.c', count: 3, failures: 2 },
        { tool_id: 'a.b.d', count: 1, failures: 0 },
      ],
    });
    const { org_id: _o, created_by: _c, cost_usd: _u, model: _m, answer: _a, metadata: _d, ...bare } = runOf('bare');
    expect(await archive.putRun(full, eventsOf('full', 5))).toBe('stored');
    expect(await archive.putRun({ ...bare, tools: [] }, eventsOf('bare', 2))).toBe('stored');
    expect(await archive.getRun('full')).toEqual({ ...full, tail: 5 });
    expect(await archive.getRun('bare')).toEqual({ ...bare, tools: [], tail: 2 });
    expect(await archive.getRun('other')).toBeUndefined();
  });

  it('has its events byte for byte, whatever they hold, from any of them on', async () => {
    const said = fc.string({ unit: 'binary', maxLength: 40 });
    const log = fc.array(said, { minLength: 1, maxLength: 30 });
    let n = 0;
    await fc.assert(
      fc.asyncProperty(log, fc.integer({ min: -35, max: 35 }), async (texts, from) => {
        const runId = `run-${n++}`;
        const events = texts.map((text, seq) => JSON.stringify({ seq, text }));
        await archive.putRun(runOf(runId), events);
        expect(await textsOf(archive, runId)).toEqual(events);
        expect(await textsOf(archive, runId, from)).toEqual(
          events.slice(from < 0 ? Math.max(0, texts.length + from) : from),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('may have a long log: it is kept and read in parts', async () => {
    // 4 MB, with events that are larger than a part.
    const events = eventsOf('long', 40, 'x'.repeat(100_000)).map((text, n) => (n % 10 === 0 ? text.repeat(4) : text));
    const slowly = (async function* () {
      for (const event of events) {
        await Promise.resolve();
        yield event;
      }
    })();
    expect(await archive.putRun(runOf('long'), slowly)).toBe('stored');
    const { query } = await place.open();
    expect((await query.selectFrom('run_events').select('first_seq').execute()).length).toBeGreaterThan(10);
    expect(await textsOf(archive, 'long')).toEqual(events);
    expect(await textsOf(archive, 'long', 29)).toEqual(events.slice(29));
    expect(await textsOf(archive, 'long', -1)).toEqual(events.slice(-1));
  });

  it('may have any character in its texts, and texts of any length', async () => {
    const input = `zero \0, quote ' and " and \\, \ud83d\ude00, ${'word '.repeat(300_000)}`;
    const words = Array.from({ length: 200_000 }, (_, n) => `w${n}`).join(' ');
    const metadata = { zero: 'a\0b', nested: { '\u0000': ['\ud83d'] } };
    await archive.putRun(runOf('any', { input, answer: words, metadata }), eventsOf('any'));
    expect(await archive.getRun('any')).toMatchObject({
      input: input.replace('\0', '\ufffd'),
      answer: words,
      metadata,
    });
  });

  it('is put once, however often it is tried, and the first one counts', async () => {
    await archive.putRun(runOf('once'), eventsOf('once', 3));
    expect(await archive.putRun(runOf('once', { answer: 'another' }), eventsOf('once', 7))).toBe('present');
    expect(await archive.getRun('once')).toMatchObject({ answer: 'It rains.', tail: 3 });
    expect(await textsOf(archive, 'once')).toHaveLength(3);
  });

  it('is put once by many at the same time', async () => {
    const writers = await Promise.all(Array.from({ length: 6 }, async () => createArchive(await place.open())));
    const ids = Array.from({ length: 10 }, (_, n) => `run-${n}`);
    const results = await Promise.all(
      writers.flatMap((writer) => ids.map((id) => writer.putRun(runOf(id), eventsOf(id, 20)))),
    );
    expect(results.filter((result) => result === 'stored')).toHaveLength(10);
    expect(results.filter((result) => result === 'present')).toHaveLength(50);
    for (const id of ids) expect(await textsOf(archive, id)).toEqual(eventsOf(id, 20));
    expect((await archive.listRuns({}, undefined, 100)).runs).toHaveLength(10);
    expect((await archive.listRuns({ text: 'weather' }, undefined, 100)).runs).toHaveLength(10);
  });

  it('shares its millisecond with a thousand others, and no more', async () => {
    const { query } = await place.open();
    const first = Date.parse(runOf('x').started_at) * 1_024;
    await archive.putRun(runOf('one'), eventsOf('one'));
    const { id: _id, ...row } = await query.selectFrom('runs').selectAll().executeTakeFirstOrThrow();
    const taken = new Set((await query.selectFrom('runs').select('id').execute()).map(({ id }) => id));
    const others = Array.from({ length: 1_024 }, (_, n) => first + n).filter((id) => !taken.has(id));
    const rows = others.slice(1).map((id) => ({ ...row, id, run_id: `other-${id}` }));
    for (let n = 0; n < rows.length; n += 100)
      await query
        .insertInto('runs')
        .values(rows.slice(n, n + 100))
        .execute();
    expect(await archive.putRun(runOf('last'), eventsOf('last'))).toBe('stored');
    await expect(archive.putRun(runOf('too many'), eventsOf('x'))).rejects.toThrow(/too many others/);
    expect(await archive.getRun('too many')).toBeUndefined();
  });

  it('that cannot be is refused, and nothing of it is kept', async () => {
    await expect(archive.putRun(runOf('a'), ['{"seq":0}\n{"seq":1}'])).rejects.toThrow(/event 0 .* not one line/);
    await expect(archive.putRun(runOf('a', { started_at: 'soon' }), eventsOf('a'))).rejects.toThrow(
      /"soon" is no time/,
    );
    const twice = { tool_id: 'a.b.c', count: 1, failures: 0 };
    await expect(archive.putRun(runOf('a', { tools: [twice, twice] }), eventsOf('a'))).rejects.toThrow();
    expect(await archive.getRun('a')).toBeUndefined();
    expect((await archive.listRuns({ text: 'weather' }, undefined, 10)).runs).toEqual([]);
    await expect(textsOf(archive, 'a')).rejects.toMatchObject({ code: 'unknown_run' });
  });

  it('is there once and whole, or not at all, though its writer is killed in the middle twenty times', async () => {
    const { dataDir, url } = place.options;
    const [runs, size] = [8, 1_500];
    let cut = 0;
    for (let n = 0; n < 20; n++) {
      const writer = startFixture('put-runs', JSON.stringify({ dataDir, url }), String(runs), String(size));
      await writer.nextLine();
      writer.tell('go');
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
      writer.kill();
      if ((await writer.ended).signal === 'SIGKILL') cut += 1;
      // What is there is whole.
      for (const { run_id } of (await archive.listRuns({}, undefined, 100)).runs) {
        expect(await textsOf(archive, run_id)).toEqual(eventsOf(run_id, size));
        expect(await archive.getRun(run_id)).toEqual({ ...runOf(run_id), tail: size });
      }
    }
    // On a slow machine some have not begun by then, on a fast one some are done.
    expect(cut).toBeGreaterThan(3);
    const last = startFixture('put-runs', JSON.stringify({ dataDir, url }), String(runs), String(size));
    await last.nextLine();
    last.tell('go');
    expect(await last.ended).toMatchObject({ code: 0, errors: '' });
    const ids = (await archive.listRuns({ text: 'rains' }, undefined, 100)).runs.map(({ run_id }) => run_id);
    expect(ids.toSorted()).toEqual(Array.from({ length: runs }, (_, n) => `run-${n}`));
    for (const id of ids) expect(await textsOf(archive, id)).toEqual(eventsOf(id, size));
    const { query } = await place.open();
    for (const table of ['run_texts', 'run_tools'] as const) {
      expect(await query.selectFrom(table).select('run').execute()).toHaveLength(runs);
    }
  });
});
