/** One stream over a whole tree, on the real server. Interleavings that a server does not give are in run-stream.test.ts. */
import { randomInt } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../client/index.js';
import type { RunStream, StreamEvent } from '../../client/index.js';
import { agentAsTool, defineAgent } from '../../kit/index.js';
import type { Agent } from '../../kit/index.js';
import type { LiveChannel } from '../../live/channel.js';
import { createMemoryChannel } from '../../live/memory-channel.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { connectClient } from '../../worker/create-worker.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { checkCausalOrder, ofRun, runsIn } from './causal-order.js';

type Turns = Parameters<typeof script>[0];

const tools = testConfig().agents[0]?.options.tools ?? [];
const policy = { approve: ['test.effects.*'] };
const asTool = (agent: Agent, name: string) =>
  agentAsTool(agent, {
    tool_id: `test.agents.${name}`,
    description: 'Delegates.',
    input: z.object({ script: z.string() }),
    prompt: '{{script}}',
  });
const leaf = defineAgent({ agent_id: 'test.leaf', instructions: 'x', tools, clarifications: true, policy });
const middle = defineAgent({
  agent_id: 'test.middle',
  instructions: 'x',
  tools: [asTool(leaf, 'leaf'), ...tools],
  policy,
});
const root = defineAgent({
  agent_id: 'test.root',
  instructions: 'x',
  tools: [asTool(middle, 'middle'), ...tools],
  policy,
});

const delegate = (name: 'leaf' | 'middle', turns: Turns) => ({
  tool: `test.agents.${name}`,
  args: { script: script(turns) },
});
const words = (name: string) => Array.from({ length: 8 }, (_, n) => `${name}${n} `);
const leafTurns = (name: string): Turns => [
  {
    thinking: `secret thought of ${name}`,
    text: words(name),
    delay_ms: 15,
    tool_calls: [call('tools.echo', { text: `secret argument ${name}` })],
  },
  { text: words(`${name}-end`), delay_ms: 15 },
];
/** 1 root, 3 in the middle, 6 leaves. */
const tree = script([
  {
    tool_calls: ['a', 'b', 'c'].map((name) =>
      delegate('middle', [
        {
          text: `${name} delegates`,
          tool_calls: [delegate('leaf', leafTurns(`${name}1`)), delegate('leaf', leafTurns(`${name}2`))],
        },
        { text: words(name), delay_ms: 15 },
      ]),
    ),
  },
  { text: 'all is done' },
]);

describe('a flattened stream', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({
      models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
      agents: [root],
      runtime: { heartbeat_timeout: '3s', cancel_grace: 500 },
    });
  });
  afterAll(() => world.end());

  const start = async (input = tree) => (await world.client.runs.start({ agent_id: 'test.root', input })).run_id;
  const flat = (runId: string, options: object = {}): RunStream =>
    world.client.runs.stream(runId, { children: 'flattened', ...options });

  async function expectWholeLogs(events: readonly StreamEvent[]): Promise<void> {
    for (const runId of runsIn(events)) {
      const log = (await world.logOf(runId)).map((event) => JSON.stringify(event));
      expect(ofRun(durable(events), runId).map((event) => JSON.stringify(event))).toEqual(log);
    }
  }

  it('shows three levels and ten runs in causal order, each with the bytes of its own log', async () => {
    const runId = await start();
    const events = await collect(flat(runId));
    expect(runsIn(events)).toHaveLength(10);
    checkCausalOrder(events, runId);
    await expectWholeLogs(events);
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', run_id: runId, status: 'success' });
    // Live text of the leaves came on its way, or at once where the block was closed before we came.
    const ends = ofType(events, 'text_end').filter((event) => event.agent_id === 'test.leaf');
    const came = ends.filter((end) => {
      const deltas = events.flatMap((event) =>
        event.type === 'text_chunk' && event.run_id === end.run_id && event.block_id === end.block_id
          ? [event.text]
          : [],
      );
      expect(deltas.join('')).toBe(end.text);
      return deltas.length > 1;
    });
    expect(came.length).toBeGreaterThan(0);
    // The same for one who comes late, live or only for what is there.
    for (const options of [{}, { follow: false }]) {
      const late = await collect(flat(runId, options));
      expect(durable(late)).toHaveLength(durable(events).length);
      checkCausalOrder(late, runId);
      await expectWholeLogs(late);
    }
  });

  it('gives a reader that reconnects fifty times, for each run, the bytes of one that never left', async () => {
    const seed = randomInt(2 ** 31);
    onTestFailed(() => void process.stderr.write(`seed ${seed}\n`));
    let state = seed;
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >>> 8) % below;
    };
    const runId = await start();
    const staying = collect(flat(runId));
    const seen: StreamEvent[] = [];
    let cursor: string | undefined;
    let longest = 0;
    for (let n = 0; n < 50; n++) {
      const stream = flat(runId, cursor === undefined ? {} : { cursor });
      let left = 1 + random(6);
      for await (const event of stream) {
        seen.push(event);
        if (--left === 0) break;
      }
      cursor = stream.cursor();
      longest = Math.max(longest, cursor.length);
      // Away: children start and end meanwhile.
      await sleep(random(4) === 0 ? random(250) : 0);
    }
    expect(seen.some((event) => event.type === 'run_completed' && event.run_id === runId)).toBe(false);
    seen.push(...(await collect(flat(runId, { cursor }))));
    const stayed = await staying;
    expect(runsIn(seen)).toHaveLength(10);
    checkCausalOrder(seen, runId);
    for (const id of runsIn(stayed)) {
      const bytes = (events: readonly StreamEvent[]) =>
        ofRun(durable(events), id).map((event) => JSON.stringify(event));
      expect(bytes(seen)).toEqual(bytes(stayed));
    }
    await expectWholeLogs(seen);
    expect(longest).toBeLessThan(1_000);
  });

  it('resumes in the middle of an answer with its text so far', async () => {
    const text = Array.from({ length: 30 }, (_, n) => `w${n} `);
    const talk: Turns = [{ text, delay_ms: 60 }];
    const runId = await start(script([{ tool_calls: [delegate('middle', talk)] }, { text: 'x' }]));
    const first = flat(runId);
    let chunks = 0;
    for await (const event of first) if (event.type === 'text_chunk' && ++chunks === 3) break;
    const rest = await collect(flat(runId, { cursor: first.cursor() }));
    const texts = rest.flatMap((event) => (event.type === 'text_chunk' && event.run_id !== runId ? [event.text] : []));
    expect(texts[0]).toContain('w0 w1 w2');
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.join('')).toBe(text.join(''));
    expect(rest[0]).toMatchObject({ type: 'text_start', run_id: `${runId}/call_1_1` });
  });

  it('has a pause two levels down as itself; linked it is a notice; both say whom to answer', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'perdure-flat-')), 'line');
    const write = call('effects.write_line', { path, line: 'x' });
    const ask = { tool: 'runtime.user.ask_clarification', args: { question: 'Which one?' } };
    const deep: Turns = [
      { tool_calls: [delegate('leaf', [{ tool_calls: [write, ask] }, { text: 'written' }])] },
      { text: 'm' },
    ];
    const runId = await start(script([{ tool_calls: [delegate('middle', deep)] }, { text: 'r' }]));
    const linked = collect(world.client.runs.stream(runId, { profile: 'user_chat' }));
    const hidden = collect(world.client.runs.stream(runId, { profile: 'user_chat', children: 'invisible' }));
    const events: StreamEvent[] = [];
    for await (const event of world.client.runs.stream(runId, { profile: 'user_chat', children: 'flattened' })) {
      events.push(event);
      if (event.type === 'await_approval') {
        const { await_id, digest } = event;
        await world.client.runs.decideApproval(event.run_id, { await_id, digest, decision: 'approve' });
      }
      if (event.type === 'await_clarification') {
        await world.client.runs.answerClarification(event.run_id, { await_id: event.await_id, answer: 'this' });
      }
    }
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', run_id: runId, status: 'success', answer: 'r' });
    const owner = `${runId}/call_1_1/call_1_1`;
    expect([...ofType(events, 'await_approval'), ...ofType(events, 'await_clarification')]).toMatchObject([
      { run_id: owner, agent_id: 'test.leaf', arguments: JSON.stringify({ path, line: 'x' }) },
      { run_id: owner, question: 'Which one?' },
    ]);
    expect(ofType(events, 'await_resolved')).toHaveLength(2);
    const notices = ofType(await linked, 'child_await_changed');
    expect(new Set(runsIn(await linked))).toEqual(new Set([runId]));
    expect(notices.filter((event) => event.state === 'open').map((event) => [event.link.run_id, event.kind])).toEqual([
      [owner, 'approval'],
      [owner, 'clarification'],
    ]);
    expect((await hidden).filter((event) => JSON.stringify(event).includes(`${runId}/call`))).toEqual([]);
  });

  it('shows the marker of a child that was terminated, and of what was below it the end, then goes on', async () => {
    const hanging: Turns = [{ text: ['well'], hang: true }];
    const deep: Turns = [{ tool_calls: [delegate('leaf', hanging)] }, { text: 'm' }];
    const runId = await start(script([{ tool_calls: [delegate('middle', deep)] }, { text: 'without it' }]));
    const reading = collect(flat(runId));
    const lost = `${runId}/call_1_1`;
    await until(async () => (await world.client.runs.get(runId)).children.length === 1, 'the child');
    await until(async () => (await world.client.runs.get(lost)).children.length === 1, 'the grandchild');
    await world.temporal.workflow.getHandle(lost).terminate('test');
    const events = await reading;
    checkCausalOrder(events, runId);
    const ends = events.filter((event) => event.type === 'run_completed' || event.type === 'stream_ended');
    expect(ends).toMatchObject([
      { type: 'run_completed', run_id: `${lost}/call_1_1`, status: 'canceled' },
      { type: 'stream_ended', run_id: lost, reason: 'terminated' },
      { type: 'run_completed', run_id: runId, status: 'success', answer: 'without it' },
    ]);
    const late = await collect(flat(runId));
    checkCausalOrder(late, runId);
    expect(durable(late)).toHaveLength(durable(events).length);
    expect(late.filter((event) => event.type === 'stream_ended')).toHaveLength(1);
    expect(durable(await collect(flat(runId, { follow: false })))).toHaveLength(durable(events).length);
  });

  it('of a root that was terminated ends with its marker, after the ends of all that it had started', async () => {
    const hanging: Turns = [{ text: ['well'], hang: true }];
    const deep: Turns = [{ tool_calls: [delegate('leaf', hanging)] }, { text: 'm' }];
    const runId = await start(script([{ tool_calls: [delegate('middle', deep), delegate('middle', hanging)] }]));
    const reading = collect(flat(runId));
    await until(async () => (await world.client.runs.get(runId)).children.length === 2, 'the children');
    await until(async () => (await world.client.runs.get(`${runId}/call_1_1`)).children.length === 1, 'the grandchild');
    await world.temporal.workflow.getHandle(runId).terminate('test');
    const events = await reading;
    checkCausalOrder(events, runId);
    expect(ofType(events, 'run_completed').map((event) => event.status)).toEqual(['canceled', 'canceled', 'canceled']);
    expect(events.at(-1)).toMatchObject({ type: 'stream_ended', run_id: runId, reason: 'terminated' });
  });

  it('keeps every durable event for a reader that falls behind, and little else', async () => {
    const deltas = Array.from({ length: 700 }, (_, n) => `${n} `);
    const talk: Turns = [{ thinking: deltas, text: deltas, delay_ms: 1 }];
    const runId = await start(
      script([{ tool_calls: [delegate('middle', talk), delegate('middle', talk)] }, { text: 'x' }]),
    );
    const slow = flat(runId);
    const events: StreamEvent[] = [];
    while (ofType(events, 'step_started').length < 3) events.push((await slow.next()).value as StreamEvent);
    await world.logOf(runId);
    const rest = await collect(slow);
    events.push(...rest);
    checkCausalOrder(events, runId);
    await expectWholeLogs(events);
    // Of 1,400 deltas each: beyond a hundred that wait, they are merged.
    for (const id of runsIn(rest)) expect(ofRun(rest, id).length).toBeLessThan(250);
  });

  it('shows what its profile shows, of every run', async () => {
    const runId = await start();
    const [chat, metrics, debug] = await Promise.all([
      collect(flat(runId, { profile: 'user_chat' })),
      collect(flat(runId, { profile: 'metrics' })),
      collect(flat(runId, { profile: 'agent_debug' })),
    ]);
    for (const events of [chat, metrics, debug]) {
      expect(runsIn(events)).toHaveLength(10);
      expect(ofType(events, 'run_completed')).toHaveLength(10);
    }
    checkCausalOrder(debug, runId);
    await expectWholeLogs(debug);
    for (const events of [chat, metrics]) expect(JSON.stringify(events)).not.toMatch(/secret (thought|argument)/);
    expect(JSON.stringify(debug)).toMatch(/secret thought/);
    expect(JSON.stringify(metrics)).not.toMatch(/a10|all is done/);
    expect(ofType(chat, 'text_end').map((event) => event.text)).toContain(words('a1').join(''));
    expect(chat.some((event) => event.type === 'text_chunk')).toBe(true);
    expect(ofType(metrics, 'usage_recorded')).toHaveLength(20);
  });

  it('can be left and taken up under another profile, and by another process', async () => {
    const runId = await start();
    const stream = flat(runId, { profile: 'metrics' });
    const before: StreamEvent[] = [];
    for await (const event of stream) if (before.push(event) === 20) break;
    const other = await connectClient(world.server);
    try {
      const cursor = stream.cursor();
      const rest = await collect(other.client.runs.stream(runId, { profile: 'agent_debug', cursor }));
      expect(ofType([...before, ...rest], 'run_completed')).toHaveLength(10);
      for (const id of runsIn(rest)) {
        const seqs = ofRun(durable(rest), id).map((event) => event.seq);
        expect(seqs).toEqual(seqs.map((_, n) => (seqs[0] as number) + n));
      }
    } finally {
      await other.close();
    }
  });

  it('is over for a cursor from its end; a cursor that is none is refused', async () => {
    const runId = await start(script([{ text: 'short' }]));
    const stream = flat(runId);
    await collect(stream);
    expect(await collect(flat(runId, { cursor: stream.cursor() }))).toEqual([]);
    const one = world.client.runs.stream(runId, { from: 2 });
    const second = await one.next();
    expect(second.value).toMatchObject({ seq: 2 });
    expect(durable(await collect(world.client.runs.stream(runId, { cursor: one.cursor() })))[0]).toMatchObject({
      seq: 3,
    });
    const cut = stream.cursor().slice(0, -5);
    for (const cursor of ['', 'nonsense', cut, Buffer.from('{"version":2}').toString('base64url')]) {
      expect(() => flat(runId, { cursor })).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    }
    expect(() => flat('run_other', { cursor: stream.cursor() })).toThrow(/belongs to run/);
    expect(() => flat(runId, { cursor: one.cursor() })).toThrow(/same `children`/);
    expect(() => world.client.runs.stream(runId, { cursor: stream.cursor() })).toThrow(/same `children`/);
    expect(() => flat(runId, { cursor: stream.cursor(), from: 1 })).toThrow(/one of them/);
    expect(() => flat(runId, { from: 3 })).toThrow(/by cursor/);
    expect(() => flat(runId, { children: 'all' })).toThrow(/children/);
    expect(() => flat(runId, { profile: 'nobody' })).toThrow(/no stream profile/);
  });

  it('is shared: however many read the tree, there is one feed per run', async () => {
    const channel = createMemoryChannel();
    const now = new Map<string, number>();
    let most = 0;
    const counted: LiveChannel = {
      ...channel,
      subscribe(runId, listener) {
        now.set(runId, (now.get(runId) ?? 0) + 1);
        most = Math.max(most, ...now.values());
        const leave = channel.subscribe(runId, listener);
        return () => {
          now.set(runId, (now.get(runId) ?? 0) - 1);
          leave();
        };
      },
    };
    const client = createClient({ client: world.temporal, channel: counted });
    const runId = await start();
    const reading = Array.from({ length: 10 }, () => collect(client.runs.stream(runId, { children: 'flattened' })));
    const streams = await Promise.all(reading);
    for (const events of streams) {
      checkCausalOrder(events, runId);
      expect(durable(events)).toHaveLength(durable(streams[0] ?? []).length);
    }
    expect([now.size, most]).toEqual([10, 1]);
    await client.close();
    expect([...now.values()].every((count) => count === 0)).toBe(true);
  });

  it('ends when its client is closed', async () => {
    const runId = await start(script([{ tool_calls: [delegate('middle', [{ text: ['well'], hang: true }])] }]));
    const other = await connectClient(world.server);
    const events: StreamEvent[] = [];
    for await (const event of other.client.runs.stream(runId, { children: 'flattened' })) {
      events.push(event);
      if (event.type === 'agent_run_started') await other.close();
    }
    expect(events.some((event) => event.type === 'run_completed')).toBe(false);
    await world.client.runs.cancel(runId);
    await world.logOf(runId);
  });
});
