/** A stream that is resumed at any of its lines gives exactly what was still to come. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script, testConfig, call } from '../../support/test-agents.js';
import { child, treeConfig } from '../../support/tree-agents.js';
import { createWorld } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { jsonLines, read, serverSentEvents } from './read-stream.js';
import { serveStreams } from './stream-server.js';
import type { StreamServer } from './stream-server.js';
import { testDialects } from './test-dialects.js';

const dialects = Object.keys(testDialects);
const words = (name: string, count = 12) => Array.from({ length: count }, (_, n) => `${name}${n} `);

interface Place {
  world: World;
  server: StreamServer;
}
const at = ({ server }: Place, runId: string, query: string) =>
  `${server.url}/v1/runs/${encodeURIComponent(runId)}/events?trailer=true&${query}`;

async function createPlace(config: Parameters<typeof createWorld>[0]): Promise<Place> {
  const world = await createWorld(config);
  return { world, server: await serveStreams(world.client.runs) };
}
async function leave({ server, world }: Place): Promise<void> {
  await server.close();
  await world.end();
}

describe('the stream of one run', () => {
  let place: Place;
  let runId: string;
  beforeAll(async () => {
    place = await createPlace(testConfig());
    const turns = [
      { thinking: 'Hm.', text: words('a'), tool_calls: [call('tools.echo', { text: 'x' })] },
      { text: words('b') },
    ];
    ({ run_id: runId } = await place.world.client.runs.start({ agent_id: 'test.agent', input: script(turns) }));
    await place.world.logOf(runId);
  });
  afterAll(() => leave(place));

  for (const dialect of dialects) {
    for (const profile of ['agent_debug', 'user_chat']) {
      const stream = `dialect=${dialect}&profile=${profile}&children=linked`;

      it(`in ${dialect}, as ${profile} shows it, resumed at every line in SSE, has the same bytes`, async () => {
        const whole = (await read(at(place, runId, `${stream}&format=sse`))).text;
        const events = serverSentEvents(whole);
        const blocks = whole.split('\n\n').map((block) => `${block}\n\n`);
        expect(events.length).toBeGreaterThan(5);
        for (const [n, { id, event }] of events.entries()) {
          if (event !== undefined) continue;
          const rest = blocks.slice(n + 1, -1).join('');
          const url = at(place, runId, `${stream}&format=sse&from=0`);
          expect((await read(url, { headers: { 'last-event-id': id ?? '' } })).text).toBe(rest);
        }
      });

      it(`in ${dialect}, as ${profile} shows it, resumed at every line in NDJSON, has the same bytes`, async () => {
        const bare = (await read(at(place, runId, stream))).text.split(/(?<=\n)/);
        const enveloped = jsonLines((await read(at(place, runId, `${stream}&envelope=true`))).text);
        expect(enveloped).toHaveLength(bare.length);
        for (const [n, { cursor }] of enveloped.entries()) {
          const rest = bare.slice(n + 1).join('');
          const { text } = await read(at(place, runId, `${stream}&from=${String(cursor)}`));
          // At the end there is nothing to come but the end itself.
          expect(text).toBe(rest === '' ? bare.at(-1) : rest);
        }
      });
    }
  }

  it('begins at every seq, and as many events before the end as asked, with the lines that those events have', async () => {
    const events = serverSentEvents((await read(at(place, runId, 'dialect=triple&format=sse'))).text).slice(0, -1);
    const seqOf = (id = '') => Number(id.split('.')[0]);
    const tail = seqOf(events.at(-1)?.id) + 1;
    for (let seq = 0; seq <= tail; seq++) {
      const rest = events.filter(({ id }) => seqOf(id) >= seq);
      for (const from of seq === tail ? [seq] : [seq, seq - tail]) {
        const { text } = await read(at(place, runId, `dialect=triple&format=sse&from=${from}`));
        const got = serverSentEvents(text);
        expect(got.slice(0, -1)).toEqual(rest);
        expect(got.at(-1)).toMatchObject({ event: 'perdure.end' });
      }
    }
    const { text } = await read(at(place, runId, 'dialect=triple&format=sse&from=-1000&follow=false'));
    expect(serverSentEvents(text).slice(0, -1)).toEqual(events);
  });

  it.each(['perdure', 'triple'])(
    'in %s, cut anywhere in the middle of live text, says no word twice',
    async (dialect) => {
      const text = words('word', 60);
      const input = script([{ text, delay_ms: 15 }, { text: 'never' }].slice(0, 1));
      const { run_id } = await place.world.client.runs.start({ agent_id: 'test.agent', input });
      const heard: string[] = [];
      const seen: unknown[] = [];
      let from = '0';
      let cuts = 0;
      for (let ended = false; !ended; cuts++) {
        const url = at(place, run_id, `dialect=${dialect}&envelope=true&from=${from}`);
        const reading = await read(url, { enough: (so) => jsonLines(so).length > 3 });
        for (const line of jsonLines(reading.text)) {
          if ('perdure' in line) ended = line['perdure'] === 'end';
          else {
            from = line['cursor'] as string;
            const data = line['data'] as { say?: string; type?: string; text?: string };
            if (data.say !== undefined) heard.push(data.say);
            if (data.type === 'text_chunk') heard.push(data.text ?? '');
            if ('seq' in line) seen.push(line['seq']);
          }
        }
      }
      expect(cuts).toBeGreaterThan(3);
      expect(text.join('').startsWith(heard.join(''))).toBe(true);
      // A dialect of words says them all; events say the rest in the one that closes the block.
      expect(heard.join('').length).toBeGreaterThan(dialect === 'triple' ? text.join('').length - 1 : 100);
      const log = (await place.world.logOf(run_id)).map(({ seq }) => seq);
      expect([...new Set(seen)]).toEqual(
        dialect === 'perdure' ? log : [...new Set(seen)].toSorted((a, b) => Number(a) - Number(b)),
      );
      if (dialect === 'perdure') expect(seen).toEqual(log);
    },
  );
});

describe('the stream of a tree', () => {
  let place: Place;
  beforeAll(async () => {
    place = await createPlace(treeConfig());
  });
  afterAll(() => leave(place));

  const leaf = (name: string) => child([{ text: words(name), delay_ms: 10 }]);
  const tree = script([
    { tool_calls: [leaf('a'), child([{ tool_calls: [leaf('b'), leaf('c')] }, { text: words('d') }])] },
    { text: words('end') },
  ]);
  const start = async () => (await place.world.client.runs.start({ agent_id: 'test.node', input: tree })).run_id;

  type Enveloped = { run_id: string; cursor: string; seq?: number; data: unknown };
  const durableByRun = (lines: readonly Enveloped[]) => {
    const byRun = new Map<string, string[]>();
    for (const { run_id, seq, data } of lines) {
      if (seq !== undefined) byRun.set(run_id, [...(byRun.get(run_id) ?? []), `${seq} ${JSON.stringify(data)}`]);
    }
    return byRun;
  };

  it.each(dialects)('in %s, resumed at every line, has for each run the same bytes', async (dialect) => {
    const runId = await start();
    await place.world.logOf(runId);
    const query = `dialect=${dialect}&children=flattened&envelope=true`;
    const whole = jsonLines((await read(at(place, runId, query))).text).slice(0, -1) as unknown as Enveloped[];
    const wanted = durableByRun(whole);
    expect(wanted.size).toBe(5);
    for (const [n, { cursor }] of whole.entries()) {
      const rest = jsonLines((await read(at(place, runId, `${query}&from=${cursor}`))).text) as unknown as Enveloped[];
      expect(rest.at(-1)).toMatchObject({ perdure: 'end', reason: 'completed' });
      expect(durableByRun([...whole.slice(0, n + 1), ...rest.slice(0, -1)])).toEqual(wanted);
    }
  });

  it('cut again and again while it goes on, has every durable line once and no word twice', async () => {
    const runId = await start();
    const query = 'dialect=triple&children=flattened&envelope=true';
    const got: Enveloped[] = [];
    let from = '0';
    for (let ended = false; !ended;) {
      const { text } = await read(at(place, runId, `${query}&from=${from}`), {
        enough: (so) => jsonLines(so).length > 8,
      });
      for (const line of jsonLines(text)) {
        if ('perdure' in line) ended = line['perdure'] === 'end';
        else got.push(line as unknown as Enveloped);
      }
      from = got.at(-1)?.cursor ?? from;
    }
    const late = jsonLines((await read(at(place, runId, query))).text).slice(0, -1) as unknown as Enveloped[];
    const spoken = (lines: readonly Enveloped[], runIdOf: string) =>
      lines.flatMap(({ run_id, data }) => (run_id === runIdOf ? [(data as { say?: string }).say ?? ''] : [])).join('');
    const silent = (lines: readonly Enveloped[]) =>
      durableByRun(lines.filter(({ data }) => !('say' in (data as object))));
    expect(silent(got)).toEqual(silent(late));
    for (const id of durableByRun(late).keys()) expect(spoken(got, id)).toBe(spoken(late, id));
  });

  it('a cursor of another run, or of one run where a tree is asked for, is refused', async () => {
    const [one, other] = [await start(), await start()];
    await Promise.all([place.world.logOf(one), place.world.logOf(other)]);
    const query = 'children=flattened&envelope=true';
    const [line] = jsonLines((await read(at(place, one, query))).text);
    const cursor = String(line?.['cursor']);
    /** Of an event that comes before the first: a log would be read for it to its end. */
    const before = (run_id: string) =>
      Buffer.from(JSON.stringify({ version: 1, run_id, flattened: true, open: [['', -5]] })).toString('base64url');
    const refusals = [
      await read(at(place, other, `${query}&from=${cursor}`)),
      await read(at(place, one, `children=linked&from=${cursor}`)),
      await read(at(place, one, `${query}&from=${cursor.slice(3)}`)),
      await read(at(place, one, `${query}&from=${cursor}x.y`)),
      await read(at(place, one, `${query}&from=${before(one)}.end`)),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
  });
});
