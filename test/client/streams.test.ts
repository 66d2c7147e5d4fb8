import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import { connectClient } from '../../worker/create-worker.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable, until } from '../support/world.js';
import type { World } from '../support/world.js';

const story = script([
  {
    thinking: 'Let me think.',
    text: 'First I look.',
    tool_calls: [call('tools.echo', { text: 'a' }), call('tools.act', { do: 'sleep', ms: 300 })],
    delay_ms: 20,
  },
  { text: 'Then I say a few more words about it.', delay_ms: 20 },
]);

/** What a reader has on its screen: closed blocks from the log, open ones from deltas. */
function screen(events: readonly StreamEvent[]): string {
  const text = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'text_chunk') text.set(event.block_id, (text.get(event.block_id) ?? '') + event.text);
    if (event.type === 'text_end') text.set(event.block_id, event.text);
  }
  return [...text.values()].join('|');
}

/** What a reader prints who knows of chunks only. */
function textOf(events: readonly StreamEvent[]): string {
  const text = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'text_chunk') text.set(event.block_id, (text.get(event.block_id) ?? '') + event.text);
  }
  return [...text.values()].join('|');
}

describe('streams', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(testConfig());
  });
  afterAll(() => world.end());

  const start = async (input = story) => (await world.client.runs.start({ agent_id: 'test.agent', input })).run_id;

  it('twenty subscribers at different starting points see the same durable bytes', async () => {
    const runId = await start();
    const froms = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? n : -n));
    const streams = await Promise.all(
      froms.map(async (from, n) => {
        await new Promise((resolve) => setTimeout(resolve, n * 40));
        return collect(world.client.runs.stream(runId, { from }));
      }),
    );
    const whole = (await world.logOf(runId)).map((event) => JSON.stringify(event));
    for (const [n, events] of streams.entries()) {
      const bytes = durable(events).map((event) => JSON.stringify(event));
      if ((froms[n] ?? 0) >= 0) expect(bytes).toEqual(whole.slice(froms[n]));
      else expect(bytes).toEqual(whole.slice(whole.length - bytes.length));
      expect(events.at(-1)?.type).toBe('run_completed');
    }
  });

  it('deltas of a block, put together, are the text of its closing event', async () => {
    const events = await collect(world.client.runs.stream(await start()));
    for (const end of durable(events)) {
      if (end.type !== 'text_end' && end.type !== 'thinking_end') continue;
      const deltas = events.flatMap((event) =>
        (event.type === 'text_chunk' || event.type === 'thinking_chunk') && event.block_id === end.block_id
          ? [event.text]
          : [],
      );
      expect(deltas.join('')).toBe(end.text);
    }
  });

  it('a reader that joins in the middle of an answer gets the text so far, then the rest', async () => {
    const runId = await start(script([{ text: Array.from({ length: 40 }, (_, n) => `word${n} `), delay_ms: 25 }]));
    const first = world.client.runs.stream(runId);
    let chunks = 0;
    for await (const event of first) if (event.type === 'text_chunk' && ++chunks === 10) break;
    const late = await collect(world.client.runs.stream(runId));
    const parts = late.flatMap((event) => (event.type === 'text_chunk' ? [event.text] : []));
    expect(parts[0]).toContain('word0 word1 ');
    expect(parts.join('')).toBe(Array.from({ length: 40 }, (_, n) => `word${n} `).join(''));
  });

  it('works after the run has ended, from any seq', async () => {
    const runId = await start();
    const log = await world.logOf(runId);
    for (const from of [0, 5, log.length - 1, -1, -3, -1000]) {
      const events = await collect(world.client.runs.stream(runId, { from }));
      expect(durable(events)).toEqual(log.slice(from < 0 ? Math.max(0, log.length + from) : from));
      expect(textOf(events)).toBe(screen(durable(events)));
    }
  });

  it('follow: false reads what is there and ends, while the run goes on', async () => {
    const runId = await start(script([{ text: ['well'], hang: true }]));
    await until(async () => (await world.client.runs.get(runId)).steps.length === 1, 'the first step');
    const events = await collect(world.client.runs.stream(runId, { follow: false }));
    expect(events.at(-1)).toMatchObject({ type: 'step_started' });
    const last = await collect(world.client.runs.stream(runId, { from: -2, follow: false }));
    expect(last).toEqual(events.slice(-2));
    await world.client.runs.cancel(runId);
  });

  it('an abort ends the stream, not the run', async () => {
    const runId = await start();
    const controller = new AbortController();
    const seen: StreamEvent[] = [];
    for await (const event of world.client.runs.stream(runId, { signal: controller.signal })) {
      seen.push(event);
      if (seen.length === 3) controller.abort();
    }
    expect(seen.length).toBeLessThan(10);
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ status: 'success' });
  });

  it('a run terminated from outside ends its readers with the end marker, not with silence', async () => {
    const runId = await start(script([{ text: ['well'], hang: true }]));
    const reading = collect(world.client.runs.stream(runId));
    await until(async () => (await world.client.runs.get(runId)).steps.length === 1, 'the first step');
    await world.temporal.workflow.getHandle(runId).terminate('test');
    const events = await reading;
    expect(events.at(-1)).toMatchObject({ type: 'stream_ended', run_id: runId, reason: 'terminated' });
    expect(events.at(-1)).not.toHaveProperty('seq');
    // Also for one who comes later.
    expect((await collect(world.client.runs.stream(runId))).at(-1)).toMatchObject({
      type: 'stream_ended',
      reason: 'terminated',
    });
    expect(await world.client.runs.get(runId)).toMatchObject({ engine_end: { reason: 'terminated' } });
    await expect(world.client.runs.result(runId)).rejects.toMatchObject({ code: 'run_ended' });
  });

  it('a run that never was ends at once, and says so', async () => {
    expect(await collect(world.client.runs.stream('run_nowhere'))).toMatchObject([
      { type: 'stream_ended', reason: 'not_found' },
    ]);
    await expect(world.client.runs.get('run_nowhere')).rejects.toMatchObject({ code: 'unknown_run' });
  });

  it('a client in another process gets live text by signals where it asks for them', async () => {
    const other = await connectClient(world.server, { live: 'temporal' });
    try {
      const input = script([{ text: Array.from({ length: 30 }, (_, n) => `w${n} `), delay_ms: 40 }]);
      const { run_id } = await other.client.runs.start({ agent_id: 'test.agent', input });
      const events = await collect(other.client.runs.stream(run_id));
      const chunks = events.flatMap((event) => (event.type === 'text_chunk' ? [event] : []));
      expect(chunks.length).toBeGreaterThan(1);
      const whole = Array.from({ length: 30 }, (_, n) => `w${n} `).join('');
      expect(textOf(events)).toBe(whole);
      expect(screen(events)).toBe(screen(durable(events)));
      expect(durable(events)).toEqual(await world.logOf(run_id));
    } finally {
      await other.close();
    }
  });

  it('a reader that falls behind keeps every durable event and is told what it missed', async () => {
    const deltas = Array.from({ length: 3_000 }, (_, n) => `${n} `);
    const runId = await start(script([{ thinking: deltas, text: deltas }]));
    const slow = world.client.runs.stream(runId);
    const first = await slow.next();
    await world.logOf(runId);
    const rest = await collect({ [Symbol.asyncIterator]: () => slow });
    const events = [first.value as StreamEvent, ...rest];
    expect(durable(events)).toEqual(await world.logOf(runId));
    expect(screen(events)).toBe(deltas.join(''));
  });

  it('goes on across continue-as-new, with the same run id and a gapless log', async () => {
    const again = await createWorld(testConfig({ continue_as_new_after_events: 20 }));
    try {
      const turns = Array.from({ length: 8 }, (_, n) => ({
        text: `step ${n}`,
        tool_calls: [call('tools.echo', { text: `${n}` })],
      }));
      const { run_id } = await again.client.runs.start({
        agent_id: 'test.agent',
        input: script([...turns, { text: 'the end' }]),
      });
      const events = await collect(again.client.runs.stream(run_id));
      const log = durable(events);
      expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index));
      expect(log.at(-1)).toMatchObject({
        status: 'success',
        answer: 'the end',
        usage: { model_calls: 9, tool_calls: 8 },
      });
      const description = await again.temporal.workflow.getHandle(run_id).describe();
      const { history } = await again.temporal.workflow
        .getHandle(run_id, description.runId)
        .fetchHistory()
        .then((history) => ({ history }));
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
      expect(started?.continuedExecutionRunId).toBeTruthy();
    } finally {
      await again.end();
    }
  });
});
