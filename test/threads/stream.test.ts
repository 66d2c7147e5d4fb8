/** A thread as one stream of its turns: through new turns, cuts, continue-as-new, lost runs and killed workers. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { PerdureClient, ThreadEvent, ThreadStreamOptions } from '../../client/index.js';
import { createCrashWorld, TEST_TIMEOUT_MS } from '../crash/crash-world.js';
import { expectSameEvents, expectWholeStory } from '../crash/same-story.js';
import { call, script } from '../support/test-agents.js';
import { child, treeConfig } from '../support/tree-agents.js';
import { createWorld, durable, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, threadConfig } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

const agent_id = 'test.agent';
const words = (name: string) => Array.from({ length: 12 }, (_, n) => `${name}${n} `);
const answers = (n: number) => script(Array.from({ length: n }, (_, index) => ({ text: words(`a${index}.`) })));

/** Reads until it is told enough, or to the end. */
async function readThread(
  { threads }: PerdureClient,
  threadId: string,
  options: ThreadStreamOptions = {},
  enough: (events: readonly ThreadEvent[]) => boolean = () => false,
): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const event of threads.stream(threadId, options)) {
    events.push(event);
    if (enough(events)) break;
  }
  return events;
}

const ofRuns = (events: readonly ThreadEvent[]) =>
  durable(
    events.filter((event): event is Exclude<ThreadEvent, { type: 'thread_ended' }> => event.type !== 'thread_ended'),
  );
const ids = (events: readonly ThreadEvent[]) => ofRuns(events).map(({ event_id }) => event_id);
const ends = (n: number) => (events: readonly ThreadEvent[]) =>
  events.filter((event) => event.type === 'run_completed' || event.type === 'stream_ended').length >= n;
const logsOf = async (threadId: string, turns: number) =>
  (await Promise.all(Array.from({ length: turns }, (_, n) => world.logOf(`${threadId}/turn_${n + 1}`)))).flat();

async function talk(threadId: string, turns: number): Promise<void> {
  for (let n = 2; n <= turns; n++) {
    await settled(world.client.threads, threadId);
    await world.client.threads.send(threadId, { message: `question ${n}` });
  }
  await settled(world.client.threads, threadId);
}

describe('the stream of a thread', () => {
  it('begins before its first turn and goes on through new ones, with the logs of their runs', async () => {
    const { client } = world;
    const { thread_id } = await client.threads.start({ agent_id });
    const reading = readThread(client, thread_id, {}, ends(3));
    await client.threads.send(thread_id, { message: answers(3) });
    await talk(thread_id, 3);
    const events = await reading;
    expect(ofRuns(events)).toEqual(await logsOf(thread_id, 3));
    expect(events.some((event) => event.type === 'text_chunk')).toBe(true);
  });

  it('gives two readers the same, and a late one too, in a process without the worker’s channel', async () => {
    const { client } = world;
    const { thread_id } = await client.threads.start({ agent_id });
    const { createClient } = await import('../../client/index.js');
    const other = createClient({ client: world.temporal, taskQueue: world.server.taskQueue });
    const early = [readThread(client, thread_id, {}, ends(2)), readThread(other, thread_id, {}, ends(2))];
    await client.threads.send(thread_id, { message: answers(2) });
    await talk(thread_id, 2);
    const all = [...(await Promise.all(early)), await readThread(other, thread_id, {}, ends(2))];
    const log = await logsOf(thread_id, 2);
    for (const events of all) expect(ofRuns(events)).toEqual(log);
    await other.close();
  });

  it('resumed after any event, gives exactly the rest', async () => {
    const { client } = world;
    const { thread_id } = await client.threads.start({ agent_id, messages: [answers(3)] });
    await talk(thread_id, 3);
    const whole = client.threads.stream(thread_id, { follow: false, rest_chunks: false });
    const cursors: string[] = [whole.cursor()];
    const got: string[] = [];
    for await (const event of whole) {
      got.push('event_id' in event ? event.event_id : event.type);
      cursors.push(whole.cursor());
    }
    expect(got).toEqual((await logsOf(thread_id, 3)).map(({ event_id }) => event_id));
    for (const [n, cursor] of cursors.entries()) {
      const rest = await readThread(client, thread_id, { cursor, follow: false, rest_chunks: false });
      expect(ids(rest)).toEqual(got.slice(n));
    }
  });

  it('cut again and again while it goes on, has every durable event once', async () => {
    const { client } = world;
    const turns = Array.from({ length: 3 }, (_, n) => ({ text: words(`a${n}.`), delay_ms: 10 }));
    const { thread_id } = await client.threads.start({ agent_id, messages: [script(turns)] });
    const talking = talk(thread_id, 3);
    const got: ThreadEvent[] = [];
    let cursor: string | undefined;
    while (!ends(3)(got)) {
      const stream = client.threads.stream(thread_id, cursor === undefined ? {} : { cursor });
      for (let n = 0; n < 5 && !ends(3)(got); n++) {
        const { value } = await stream.next();
        got.push(value as ThreadEvent);
      }
      cursor = stream.cursor();
      await stream.return?.();
    }
    await talking;
    expect(ids(got)).toEqual((await logsOf(thread_id, 3)).map(({ event_id }) => event_id));
  });

  it('begins at a turn, or as many before the last as asked; what is not there is refused', async () => {
    const { client } = world;
    const { thread_id } = await client.threads.start({ agent_id, messages: [answers(3)] });
    await talk(thread_id, 3);
    const turnsOf = async (from: number) => {
      const events = await readThread(client, thread_id, { from, follow: false });
      return [...new Set(ofRuns(events).map(({ run_id }) => Number(run_id.split('_').at(-1))))];
    };
    expect(await turnsOf(2)).toEqual([2, 3]);
    expect(await turnsOf(-1)).toEqual([3]);
    expect(await turnsOf(-9)).toEqual([1, 2, 3]);
    expect(await turnsOf(4)).toEqual([]);
    await expect(turnsOf(5)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(readThread(client, 'thr_nowhere')).rejects.toMatchObject({ code: 'unknown_thread' });
    const { thread_id: other } = await client.threads.start({ agent_id });
    const cursor = client.threads.stream(thread_id).cursor();
    expect(() => client.threads.stream(other, { cursor })).toThrow(`belongs to thread ${thread_id}`);
    expect(() => client.threads.stream(thread_id, { cursor: cursor.slice(4) })).toThrow('cannot resume');
    expect(() => client.threads.stream(thread_id, { cursor, from: 1 })).toThrow('give one of them');
  });

  it('asked not to follow, ends in the middle of an open turn, and can be resumed there', async () => {
    const { client } = world;
    const { thread_id } = await client.threads.start({
      agent_id,
      messages: [script([{ tool_calls: [call('tools.act', { do: 'hang' })] }, { text: 'Done.' }])],
    });
    for await (const event of client.runs.stream(`${thread_id}/turn_1`)) if (event.type === 'tool_scheduled') break;
    const stream = client.threads.stream(thread_id, { follow: false });
    const before: ThreadEvent[] = [];
    for await (const event of stream) before.push(event);
    expect(before.at(-1)).toMatchObject({ type: 'tool_scheduled' });
    await settled(client.threads, thread_id);
    const after = await readThread(client, thread_id, { cursor: stream.cursor(), follow: false });
    expect([...ofRuns(before), ...ofRuns(after)]).toEqual(await logsOf(thread_id, 1));
  });

  it('as a profile shows it: children flattened or linked, turn by turn', async () => {
    const tree = await createWorld(treeConfig());
    const { client } = tree;
    const leaf = (name: string) => child([{ text: words(name) }]);
    const { thread_id } = await client.threads.start({
      agent_id: 'test.node',
      messages: [
        script([{ tool_calls: [leaf('a'), leaf('b')] }, { text: 'one' }, { tool_calls: [leaf('c')] }, { text: 'two' }]),
      ],
    });
    await settled(client.threads, thread_id);
    await client.threads.send(thread_id, { message: 'again' });
    await settled(client.threads, thread_id);
    const runsIn = (events: readonly ThreadEvent[]) =>
      [...new Set(ofRuns(events).map(({ run_id }) => run_id.slice(thread_id.length + 1)))].toSorted();
    expect(runsIn(await readThread(client, thread_id, { follow: false }))).toEqual(['turn_1', 'turn_2']);
    const stream = client.threads.stream(thread_id, { follow: false, profile: 'agent_debug' });
    const all: ThreadEvent[] = [];
    const cursors: string[] = [];
    for await (const event of stream) {
      all.push(event);
      cursors.push(stream.cursor());
    }
    expect(runsIn(all)).toEqual(['turn_1', 'turn_1/call_1_1', 'turn_1/call_1_2', 'turn_2', 'turn_2/call_1_1']);
    for (const [n, cursor] of cursors.entries()) {
      const rest = await readThread(client, thread_id, { cursor, follow: false, profile: 'agent_debug' });
      expect(ids([...all.slice(0, n + 1), ...rest]).toSorted()).toEqual(ids(all).toSorted());
    }
    const half = cursors[cursors.length >> 1] ?? '';
    await expect(readThread(client, thread_id, { cursor: half, follow: false })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await tree.end();
  });

  it('survives continue-as-new of the thread', async () => {
    const short = await createWorld(threadConfig({ continue_as_new_after_events: 30 }));
    const { client, temporal } = short;
    const { thread_id } = await client.threads.start({ agent_id, messages: [answers(6)] });
    const first = (await temporal.workflow.getHandle(thread_id).describe()).runId;
    const reading = readThread(client, thread_id, {}, ends(6));
    for (let n = 2; n <= 6; n++) await client.threads.send(thread_id, { message: `${n}`, on_busy: 'enqueue' });
    const events = await reading;
    expect((await temporal.workflow.getHandle(thread_id).describe()).runId).not.toBe(first);
    const logs = await Promise.all(Array.from({ length: 6 }, (_, n) => short.logOf(`${thread_id}/turn_${n + 1}`)));
    expect(ofRuns(events)).toEqual(logs.flat());
    await short.end();
  });
});

describe('what is lost or ended', () => {
  it(
    'a turn whose run is gone is a marker, also for one who was in the middle of it',
    { timeout: 200_000 },
    async () => {
      const { client, temporal } = world;
      const { thread_id } = await client.threads.start({ agent_id, messages: [answers(3)] });
      await talk(thread_id, 3);
      const stream = client.threads.stream(thread_id);
      for (let n = 0; n < 5; n++) await stream.next();
      const within = stream.cursor();
      await stream.return?.();
      const gone = `${thread_id}/turn_1`;
      await temporal.workflowService.deleteWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: gone },
      });
      const isGone = () =>
        client.runs.describe(gone).then(
          () => false,
          (error: { code?: string }) => error.code === 'unknown_run',
        );
      const t0 = Date.now();
      await until(isGone, 'the run to be gone', 400_000);
      console.log('GONE', Date.now() - t0);
      // Another process, which has nothing of it in memory.
      const { createClient } = await import('../../client/index.js');
      const other = createClient({ client: temporal });
      const message = expect.stringContaining('in the record of its thread') as string;
      const marker = { type: 'stream_ended', run_id: gone, reason: 'not_found', message };
      for (const options of [{}, { cursor: within }]) {
        for (const follow of [true, false]) {
          const events = await readThread(other, thread_id, { ...options, follow }, ends(3));
          expect(events[0]).toMatchObject(marker);
          expect(ofRuns(events)).toEqual((await logsOf(thread_id, 3)).filter(({ run_id }) => run_id !== gone));
        }
      }
      const again = other.threads.stream(thread_id);
      await again.next();
      const rest = await readThread(other, thread_id, { cursor: again.cursor(), follow: false });
      expect(rest[0]).toMatchObject({ type: 'run_started', run_id: `${thread_id}/turn_2` });
      await other.close();
    },
  );

  it('a turn whose run the engine ended is a marker behind what it said, and the next one follows', async () => {
    const { client, temporal } = world;
    const turns = [{ text: 'One moment.', tool_calls: [call('tools.act', { do: 'hang' })] }, { text: 'Here I am.' }];
    const { thread_id } = await client.threads.start({ agent_id, messages: [script(turns)] });
    const reading = readThread(client, thread_id, {}, ends(2));
    for await (const event of client.runs.stream(`${thread_id}/turn_1`)) if (event.type === 'tool_scheduled') break;
    await temporal.workflow.getHandle(`${thread_id}/turn_1`).terminate('for the test');
    await settled(client.threads, thread_id);
    await client.threads.send(thread_id, { message: 'are you there?' });
    for (const events of [await reading, await readThread(client, thread_id, { follow: false })]) {
      const first = events.filter((event) => 'run_id' in event && event.run_id === `${thread_id}/turn_1`);
      expect(first.at(-1)).toMatchObject({ type: 'stream_ended', reason: 'terminated' });
      expect(events.at(-1)).toMatchObject({ type: 'run_completed', run_id: `${thread_id}/turn_2`, status: 'success' });
    }
  });

  it('a thread that is deleted ends the stream: in the middle of a turn with its end, between turns at once', async () => {
    const { client } = world;
    const hanging = await client.threads.start({ agent_id, messages: [script([{ text: ['well'], hang: true }])] });
    const idle = await client.threads.start({ agent_id, messages: [answers(1)] });
    await settled(client.threads, idle.thread_id);
    const stream = client.threads.stream(idle.thread_id);
    let last: ThreadEvent | undefined;
    while (last?.type !== 'run_completed') last = (await stream.next()).value as ThreadEvent;
    const atEnd = stream.cursor();
    const waiting = stream.next();
    let isSpeaking: () => void = () => {};
    const speaking = new Promise<void>((resolve) => (isSpeaking = resolve));
    const reading = readThread(client, hanging.thread_id, {}, (events) => {
      if (events.at(-1)?.type === 'text_chunk') isSpeaking();
      return false;
    });
    await speaking;
    await Promise.all([client.threads.delete(hanging.thread_id), client.threads.delete(idle.thread_id)]);
    const events = await reading;
    expect(events.at(-2)).toMatchObject({ type: 'run_completed', cancellation: { reason: 'thread_deleted' } });
    expect(events.at(-1)).toMatchObject({ type: 'thread_ended', reason: 'deleted', thread_id: hanging.thread_id });
    expect((await waiting).value).toMatchObject({ type: 'thread_ended', thread_id: idle.thread_id });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    const late = readThread(client, idle.thread_id, { cursor: atEnd });
    await expect(late).rejects.toMatchObject({ code: 'unknown_thread' });
  });

  it('a stream that nobody wants any more ends at once, also while it waits for a turn', async () => {
    const { client } = world;
    const { thread_id } = await client.threads.start({ agent_id });
    const leaving = new AbortController();
    const aborted = client.threads.stream(thread_id, { signal: leaving.signal });
    const returned = client.threads.stream(thread_id);
    const waiting = [aborted.next(), returned.next()];
    leaving.abort();
    await returned.return?.();
    expect(await Promise.all(waiting)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });
});

it('readers of an idle thread ask it nothing, and share what they ask the server', async () => {
  const { createClient } = await import('../../client/index.js');
  const { temporal } = world;
  const { thread_id } = await world.client.threads.start({ agent_id, messages: [answers(1)] });
  await settled(world.client.threads, thread_id);
  let [queries, looks] = [0, 0];
  const counted = Object.create(temporal, {
    workflow: {
      value: Object.create(temporal.workflow, {
        getHandle: {
          value: (id: string) => {
            const handle = temporal.workflow.getHandle(id);
            if (id !== thread_id) return handle;
            return {
              query: (...args: Parameters<typeof handle.query>) => ((queries += 1), handle.query(...args)),
              describe: () => ((looks += 1), handle.describe()),
            };
          },
        },
      }) as unknown,
    },
  }) as typeof temporal;
  const client = createClient({ client: counted });
  const streams = Array.from({ length: 10 }, () => client.threads.stream(thread_id, { from: 2 }));
  const waiting = streams.map((stream) => stream.next());
  await until(() => queries > 0 && looks > 3, 'the watch to look');
  const before = queries;
  const [from, start] = [looks, Date.now()];
  await until(() => looks >= from + 5, 'more looks');
  expect(queries).toBe(before);
  // Ten readers that looked each for itself would have looked ten times as often.
  expect(looks - from).toBeLessThan(2 + (Date.now() - start) / 100);
  await client.close();
  expect(await Promise.all(waiting)).toEqual(streams.map(() => ({ done: true, value: undefined })));
});

it('a worker killed in mid-turn: who streams the thread sees one story', { timeout: TEST_TIMEOUT_MS }, async () => {
  const crash = await createCrashWorld(inject('temporalAddress'));
  const worker = await crash.startWorker();
  const text = Array.from({ length: 30 }, (_, n) => `word${n} `);
  const turns = [{ text: 'One.' }, { text, delay_ms: 60 }, { text: 'Three.' }];
  const { thread_id } = await crash.client.threads.start({ agent_id, messages: [script(turns)] });
  const got: ThreadEvent[] = [];
  const reading = (async () => {
    for await (const event of crash.client.threads.stream(thread_id)) {
      got.push(event);
      if (ends(3)(got)) break;
    }
  })();
  await settled(crash.client.threads, thread_id);
  await crash.client.threads.send(thread_id, { message: 'two?' });
  await crash.client.threads.send(thread_id, { message: 'three?', on_busy: 'enqueue' });
  await until(
    () => got.filter((event) => event.type === 'text_chunk' && event.text.includes('word')).length > 2,
    'text',
  );
  worker.kill('SIGKILL');
  await worker.exited;
  await crash.startWorker();
  await reading;
  const logs = await Promise.all([1, 2, 3].map((n) => crash.logOf(`${thread_id}/turn_${n}`)));
  expect(got.some((event) => event.type === 'attempt_retracted')).toBe(true);
  const stories = logs.map((_, n) => {
    const runId = `${thread_id}/turn_${n + 1}`;
    const events = got.filter((event) => event.type !== 'thread_ended').filter((event) => event.run_id === runId);
    return expectWholeStory({ runId, events, done: reading });
  });
  expect(ids(got)).toEqual(logs.flat().map(({ event_id }) => event_id));
  expectSameEvents(stories.flat(), logs.flat());
  await crash.end();
});
