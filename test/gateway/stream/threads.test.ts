/** A thread as one stream over HTTP: resumed at any line, open between turns, through all that can become of a turn. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Threads } from '../../../client/index.js';
import { call, script } from '../../support/test-agents.js';
import { child, treeConfig } from '../../support/tree-agents.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { settled } from '../../threads/thread-world.js';
import { jsonLines, read, serverSentEvents } from './read-stream.js';
import { serveStreams } from './stream-server.js';
import type { StreamServer } from './stream-server.js';
import { testDialects } from './test-dialects.js';

const dialects = Object.keys(testDialects);
const words = (name: string, count = 12) => Array.from({ length: count }, (_, n) => `${name}${n} `);

let world: World;
let server: StreamServer;
let threads: Threads;
beforeAll(async () => {
  world = await createWorld(treeConfig({ continue_as_new_after_events: 40 }));
  ({ threads } = world.client);
  server = await serveStreams(world.client.runs, { threads });
});
afterAll(async () => {
  await server.close();
  await world.end();
});

/** With what the transport says of turns and ends, unless a query says otherwise. */
const at = (threadId: string, query: string, { url } = server) =>
  `${url}/v1/threads/${threadId}/events?${query}${query.includes('trailer=') ? '' : '&trailer=true'}`;
const start = async (turns: Parameters<typeof script>[0]) =>
  (await threads.start({ agent_id: 'test.node', messages: [script(turns)] })).thread_id;
async function talk(threadId: string, turns: number): Promise<string> {
  for (let n = 2; n <= turns; n++) {
    await settled(threads, threadId);
    await threads.send(threadId, { message: `question ${n}` });
  }
  await settled(threads, threadId);
  return threadId;
}

type Enveloped = { run_id: string; cursor: string; seq?: number; data: Record<string, unknown> };
const isSaid = (line: Record<string, unknown>) => 'perdure' in line;

describe('a thread whose turns are over', () => {
  let threadId: string;
  beforeAll(async () => {
    threadId = await start([
      { thinking: 'Hm.', text: words('a'), tool_calls: [call('tools.echo', { text: 'x' })] },
      { text: words('b') },
      { tool_calls: [child([{ text: words('c') }]), child([{ text: words('d') }])] },
      { text: words('e') },
      { fail: { code: 'model_unauthorized' }, attempts: [{ fail: { code: 'model_unauthorized' } }] },
    ]);
    const first = (await world.temporal.workflow.getHandle(threadId).describe()).runId;
    await talk(threadId, 3);
    await until(
      async () => (await world.temporal.workflow.getHandle(threadId).describe()).runId !== first,
      'the thread to continue as new',
    );
  });

  for (const dialect of dialects) {
    const asked = (profile: string) => `dialect=${dialect}&profile=${profile}&children=linked&follow=false`;

    it(`in ${dialect}, as user_chat shows it, resumed at every line in SSE, has the same bytes`, async () => {
      const stream = `${asked('user_chat')}&format=sse`;
      const whole = (await read(at(threadId, stream))).text;
      const events = serverSentEvents(whole);
      const blocks = whole.split('\n\n').map((block) => `${block}\n\n`);
      const ends = events.filter(({ event }) => event === 'perdure.turn_ended');
      expect(ends.map(({ id }) => id)).toEqual(['t2', 't3', 't4']);
      for (const [n, { id }] of events.entries()) {
        if (id === undefined) continue;
        const rest = blocks.slice(n + 1, -1).join('');
        expect((await read(at(threadId, `${stream}&from=0`), { headers: { 'last-event-id': id } })).text).toBe(rest);
      }
    });

    it(`in ${dialect}, as agent_debug shows it, resumed at every line in NDJSON, has the same bytes`, async () => {
      const stream = asked('agent_debug');
      const bare = (await read(at(threadId, stream))).text.split(/(?<=\n)/);
      const enveloped = jsonLines((await read(at(threadId, `${stream}&envelope=true`))).text);
      expect(enveloped).toHaveLength(bare.length);
      for (const [n, { cursor }] of enveloped.entries()) {
        if (cursor === undefined) continue;
        const rest = bare.slice(n + 1).join('');
        const { text } = await read(at(threadId, `${stream}&from=${String(cursor)}`));
        // At the end there is nothing to come but the last word.
        expect(text).toBe(rest === '' ? bare.at(-1) : rest);
      }
    });

    it(`in ${dialect}, flattened and resumed at every line, has for each run the same bytes`, async () => {
      const query = `dialect=${dialect}&children=flattened&envelope=true&follow=false`;
      const whole = jsonLines((await read(at(threadId, query))).text) as unknown as Enveloped[];
      const byRun = (lines: readonly Enveloped[]) => {
        const found = new Map<string, string[]>();
        for (const { run_id, seq, data } of lines) {
          if (seq !== undefined) found.set(run_id, [...(found.get(run_id) ?? []), `${seq} ${JSON.stringify(data)}`]);
        }
        return found;
      };
      const wanted = byRun(whole);
      expect([...wanted.keys()].filter((id) => id.includes('/call_')).length).toBe(2);
      for (const [n, { cursor }] of whole.entries()) {
        if (cursor === undefined) continue;
        const rest = jsonLines((await read(at(threadId, `${query}&from=${cursor}`))).text) as unknown as Enveloped[];
        expect(rest.at(-1)).toMatchObject({ perdure: 'end', reason: 'tail', thread_id: threadId });
        expect(byRun([...whole.slice(0, n + 1), ...rest])).toEqual(wanted);
      }
    });
  }

  it('is told in event_contract with a status at the end of each turn', async () => {
    const lines = jsonLines((await read(at(threadId, 'dialect=event_contract&follow=false'))).text);
    const ends = lines.flatMap((line, n) => (line['perdure'] === 'turn_ended' ? [[lines[n - 1], line['status']]] : []));
    expect(ends).toMatchObject([
      [{ status: 'complete' }, 'success'],
      [{ status: 'complete' }, 'success'],
      [{ type: 'error' }, 'failed'],
    ]);
  });

  it('begins at the turn that is asked for, also from the end; what it cannot begin at is refused', async () => {
    const runsFrom = async (from: string) => {
      const { text } = await read(at(threadId, `follow=false&trailer=false&from=${from}`));
      return [...new Set(jsonLines(text).map((line) => String(line['run_id']).split('/').at(-1)))];
    };
    expect(await runsFrom('2')).toEqual(['turn_2', 'turn_3']);
    expect(await runsFrom('-1')).toEqual(['turn_3']);
    expect(await runsFrom('t3')).toEqual(['turn_3']);
    expect(await runsFrom('4')).toEqual([]);
    const refusals = ['5', 't5', 't4e', 't4.0.0', 't1.999.0', 't0', 'x', 't1.x', '3.0'];
    for (const from of refusals) {
      const { status, text } = await read(at(threadId, `follow=false&from=${from}`));
      expect([from, status, text]).toEqual([from, 400, expect.stringContaining('invalid_request')]);
    }
    const inTree = jsonLines((await read(at(threadId, 'children=flattened&envelope=true&follow=false'))).text);
    const { status } = await read(at(threadId, `children=linked&follow=false&from=${String(inTree[4]?.['cursor'])}`));
    expect(status).toBe(400);
  });
});

describe('a thread that goes on', () => {
  it('in triple, cut again and again through its turns, says every word once', async () => {
    const names = ['a', 'b', 'c'];
    const threadId = await start(names.map((name) => ({ text: words(name, 40), delay_ms: 10 })));
    const talking = talk(threadId, 3);
    const heard: string[] = [];
    const turns: unknown[] = [];
    let [from, cuts] = ['0', 0];
    for (; turns.length < 3; cuts++) {
      const url = at(threadId, `dialect=triple&envelope=true&from=${from}`);
      const { text } = await read(url, { enough: (so) => jsonLines(so).length > 4 });
      for (const line of jsonLines(text)) {
        from = (line['cursor'] as string | undefined) ?? from;
        if (line['perdure'] === 'turn_ended') turns.push(line['turn']);
        else if (!isSaid(line)) heard.push((line['data'] as { say?: string }).say ?? '');
      }
    }
    await talking;
    expect(cuts).toBeGreaterThan(5);
    expect(turns).toEqual([1, 2, 3]);
    expect(heard.join('')).toBe(names.flatMap((name) => words(name, 40)).join(''));
  });

  it('stays open between turns, with heartbeats, and shows the next one', async () => {
    const quick = await serveStreams(world.client.runs, { threads, heartbeatMs: 50 });
    const { thread_id } = await threads.start({ agent_id: 'test.node' });
    let hasBegun = false;
    const { text, cut } = await read(at(thread_id, 'trailer=false', quick), {
      enough(so) {
        if (!hasBegun && so.includes('\n\n\n')) {
          hasBegun = true;
          void threads.send(thread_id, { message: script([{ text: 'One.' }, { text: 'Two.' }]) });
        }
        if (/"run_completed".*"run_completed"/s.test(so)) return true;
        if (/"run_completed"[^]*\n\n\n$/.test(so)) void threads.send(thread_id, { message: 'two' }).catch(() => {});
        return false;
      },
    });
    expect(cut).toBe(false);
    const started = jsonLines(text).filter(({ type }) => type === 'run_started');
    expect(started.map((line) => String(line['run_id']))).toEqual([`${thread_id}/turn_1`, `${thread_id}/turn_2`]);
    await until(() => quick.open() === 0, 'the stream to be closed');
    await quick.close();
  });

  it('ends with the last word when it is deleted, in the middle of a turn after that turn', async () => {
    const threadId = await start([{ text: ['well'], hang: true }]);
    let isDeleted = false;
    const { text, cut } = await read(at(threadId, ''), {
      enough(so) {
        if (!isDeleted && so.includes('"text_chunk"')) {
          isDeleted = true;
          void threads.delete(threadId);
        }
        return false;
      },
    });
    const lines = jsonLines(text);
    expect(cut).toBe(false);
    expect(lines.at(-3)).toMatchObject({ type: 'run_completed', cancellation: { reason: 'thread_deleted' } });
    expect(lines.at(-2)).toMatchObject({ perdure: 'turn_ended', turn: 1, status: 'canceled', cursor: 't2' });
    expect(lines.at(-1)).toMatchObject({ perdure: 'end', reason: 'deleted', thread_id: threadId, cursor: 't2' });
    expect((await read(at(threadId, 'from=t2'))).status).toBe(404);
  });

  it('cancels the turn of a reader that leaves and had asked for it, and no other', async () => {
    const threadId = await start([
      { text: ['well'], hang: true },
      { text: ['then'], hang: true },
    ]);
    const speaks = { enough: (so: string) => so.includes('"text_chunk"') };
    await read(at(threadId, 'on_disconnect=cancel'), speaks);
    expect((await settled(threads, threadId)).messages.at(-1)).toMatchObject({ status: 'cancelled' });
    await threads.send(threadId, { message: 'go on' });
    await read(at(threadId, 'from=2'), speaks);
    expect((await threads.header(threadId)).status).toBe('roboto_turn');
    await threads.delete(threadId);
  });
});

describe('a turn without an end in its log', () => {
  /** Terminated in the middle, then another turn. */
  async function terminated(): Promise<string> {
    const threadId = await start([
      { text: 'One moment.', tool_calls: [call('tools.act', { do: 'hang' })] },
      { text: 'Here I am.' },
    ]);
    for await (const event of world.client.runs.stream(`${threadId}/turn_1`))
      if (event.type === 'tool_scheduled') break;
    await world.temporal.workflow.getHandle(`${threadId}/turn_1`).terminate('for the test');
    return talk(threadId, 2);
  }

  async function sameAtEveryLine(url: (query: string) => string, dialect: string): Promise<Record<string, unknown>[]> {
    const stream = `dialect=${dialect}&follow=false`;
    const bare = (await read(url(stream))).text.split(/(?<=\n)/);
    const enveloped = jsonLines((await read(url(`${stream}&envelope=true`))).text);
    for (const [n, { cursor }] of enveloped.entries()) {
      if (cursor === undefined || n === enveloped.length - 1) continue;
      // Of the lines of a marker only the last is a place to come back to; before it the marker is told whole.
      const isSplit = enveloped[n + 1]?.['data'] !== undefined && !('seq' in (enveloped[n + 1] ?? {}));
      if (isSplit) continue;
      expect((await read(url(`${stream}&from=${String(cursor)}`))).text).toBe(bare.slice(n + 1).join(''));
    }
    return jsonLines(bare.join(''));
  }

  it.each(dialects)('in %s, terminated from outside, is followed by the next one', async (dialect) => {
    const threadId = await terminated();
    const lines = await sameAtEveryLine((query) => at(threadId, query), dialect);
    const ends = lines.filter((line) => line['perdure'] === 'turn_ended');
    expect(ends).toMatchObject([
      { turn: 1, reason: 'terminated' },
      { turn: 2, reason: 'completed', status: 'success' },
    ]);
  });

  it.each(dialects)('in %s, gone with the retention, is told as such and is no error', async (dialect) => {
    const threadId = await talk(await start([{ text: words('a') }, { text: words('b') }]), 2);
    const run_id = `${threadId}/turn_1`;
    const cursor = String(jsonLines((await read(at(threadId, 'envelope=true&follow=false'))).text)[5]?.['cursor']);
    // The server takes half a minute to forget a run; that a turn is known to be gone, test/threads shows.
    const forgetful: Threads = {
      ...threads,
      turns(id) {
        const reader = threads.turns(id);
        const turn: typeof reader.turn = (number, options) =>
          number === 1 ? Promise.resolve({ state: 'gone', turn: 1, run_id }) : reader.turn(number, options);
        return { ...reader, turn };
      },
    };
    const other = await serveStreams(world.client.runs, { threads: forgetful });
    const lines = await sameAtEveryLine((query) => at(threadId, query, other), dialect);
    const index = lines.findIndex((line) => line['perdure'] === 'turn_ended');
    expect(lines[index]).toMatchObject({ turn: 1, run_id, reason: 'not_found', cursor: 't2' });
    expect(JSON.stringify(lines.slice(0, index + 1))).toContain('record of its thread');
    expect(lines.at(-2)).toMatchObject({ perdure: 'turn_ended', turn: 2, status: 'success' });
    if (dialect === 'perdure') {
      const within = jsonLines((await read(at(threadId, `follow=false&from=${cursor}`, other))).text);
      expect(within).toEqual(lines);
    }
    await other.close();
  });
});
