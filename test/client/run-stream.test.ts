/** The merge of a tree's streams, against sources that come early, late, in bits or not at all. */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createRunStream } from '../../client/run-stream.js';
import type { RunSource, RunStream } from '../../client/run-stream.js';
import { readCursor } from '../../client/stream-cursor.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import { childRunId, streamKey } from '../../contract/ids.js';
import type { RunHandle } from '../../contract/run.js';
import { NO_USAGE } from '../../contract/snapshot.js';
import { live, writtenLog } from '../contract/written-log.js';
import { checkCausalOrder, ofRun } from './causal-order.js';

interface Shape {
  notes: number;
  /** Batches of children that run at the same time. */
  batches: Shape[][];
  terminated: boolean;
}

const shape = (depth: number): fc.Arbitrary<Shape> =>
  fc.record({
    notes: fc.nat(2),
    batches:
      depth === 0
        ? fc.constant([])
        : fc.array(fc.array(shape(depth - 1), { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
    terminated: fc.boolean(),
  });

const done = {
  status: 'success',
  phase: 'completed',
  answer: 'x',
  usage: NO_USAGE,
  tree_usage: NO_USAGE,
  duration_ms: 1,
} as const;

/** Every run's events: its log, and the marker where the engine ended it. */
function logsOf(
  given: Shape,
  run: RunHandle,
  logs: Map<string, StreamEvent[]> = new Map(),
): Map<string, StreamEvent[]> {
  const drafts: EventDraft[] = [{ type: 'run_started', input: 'x' }];
  for (let n = 0; n < given.notes; n++) drafts.push({ type: 'notice_posted', text: `${n}` });
  given.batches.forEach((batch, b) => {
    const calls = batch.map((child, c) => {
      const tool_call_id = `call_${b + 1}_${c + 1}`;
      const run_id = childRunId(run.run_id, tool_call_id);
      const agent_id = `test.agent_${b}_${c}`;
      logsOf(child, { run_id, agent_id, root_run_id: run.root_run_id, parent_run_id: run.run_id }, logs);
      return { tool_call_id, link: { run_id, agent_id, stream_key: streamKey(run_id) } };
    });
    for (const call of calls) drafts.push({ type: 'agent_run_started', ...call });
    for (const call of calls.toReversed()) {
      const outcome = { name: 'x', content: 'x', duration_ms: 1, attempts: 1 };
      drafts.push({ type: 'tool_result', status: 'success', ...call, ...outcome });
    }
  });
  const { run_id } = run;
  // Terminated while its last children ran: their results were never written.
  if (given.terminated) drafts.splice(drafts.findLastIndex(({ type }) => type !== 'tool_result') + 1);
  const ended = { type: 'stream_ended', run_id, reason: 'terminated', message: 'x' } as const;
  const log: StreamEvent[] = writtenLog(
    given.terminated ? drafts : [...drafts, { type: 'run_completed', ...done }],
    run,
  );
  logs.set(run_id, given.terminated ? [...log, ended] : log);
  return logs;
}

const root: RunHandle = { run_id: 'run_1', agent_id: 'test.root', root_run_id: 'run_1' };

interface Reading {
  logs: Map<string, StreamEvent[]>;
  /** How many turns of the event loop each event takes to come. */
  delay: () => number;
  cursor?: string | undefined;
  /** Only so many events of each run are there. */
  there?: (runId: string) => number;
  flattened?: boolean;
}

function read({ logs, delay, cursor, there = () => Infinity, flattened = true }: Reading): RunStream {
  const sourceOf = (runId: string, from: number): RunSource => {
    const rest = (logs.get(runId) ?? []).slice(from, there(runId));
    return {
      async next() {
        for (let n = delay(); n > 0; n--) await setImmediate();
        const value = rest.shift();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
    };
  };
  const from =
    cursor === undefined
      ? { run_id: 'run_1', flattened, open: new Map([['run_1', 0]]) }
      : readCursor(cursor, 'run_1', flattened);
  return createRunStream({ from, sourceOf, show: (event) => event });
}

async function collect(stream: RunStream, most = Infinity): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) if (events.push(event) >= most) break;
  return events;
}

function expectAll(events: readonly StreamEvent[], logs: Map<string, StreamEvent[]>): void {
  checkCausalOrder(events, 'run_1');
  expect(events).toHaveLength([...logs.values()].flat().length);
  for (const [runId, log] of logs) expect(ofRun(events, runId)).toEqual(log);
}

const delays = fc.infiniteStream(fc.nat(3)).map((numbers) => () => numbers.next().value as number);

describe('a tree of runs', () => {
  it('is one stream in causal order with all that each run said, however its sources come', async () => {
    await fc.assert(
      fc.asyncProperty(shape(3), delays, async (given, delay) => {
        const logs = logsOf(given, root);
        expectAll(await collect(read({ logs, delay })), logs);
      }),
      { numRuns: 60 },
    );
  });

  it('goes on from its cursor wherever it was left', async () => {
    await fc.assert(
      fc.asyncProperty(
        shape(3),
        delays,
        fc.infiniteStream(fc.integer({ min: 1, max: 6 })),
        async (given, delay, cuts) => {
          const logs = logsOf(given, root);
          const seen: StreamEvent[] = [];
          let cursor: string | undefined;
          for (;;) {
            const stream = read({ logs, delay, cursor });
            const events = await collect(stream, cuts.next().value as number);
            cursor = stream.cursor();
            if (events.length === 0) break;
            seen.push(...events);
          }
          expectAll(seen, logs);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('that is not all there yet gives a part that fits together, and a cursor for the rest', async () => {
    await fc.assert(
      fc.asyncProperty(shape(3), delays, fc.infiniteStream(fc.nat(12)), async (given, delay, lengths) => {
        const logs = logsOf(given, root);
        const cut = new Map([...logs.keys()].map((runId) => [runId, lengths.next().value as number]));
        const stream = read({ logs, delay, there: (runId) => cut.get(runId) ?? 0 });
        const part = await collect(stream);
        expectAll([...part, ...(await collect(read({ logs, delay, cursor: stream.cursor() })))], logs);
      }),
      { numRuns: 60 },
    );
  });

  it('shows only the run itself where it is not flattened', async () => {
    const child: Shape = { notes: 1, batches: [], terminated: false };
    const logs = logsOf({ notes: 1, batches: [[child, child]], terminated: false }, root);
    expect(await collect(read({ logs, delay: () => 0, flattened: false }))).toEqual(logs.get('run_1'));
  });
});

describe('a stream', () => {
  const child: Shape = { notes: 1, batches: [], terminated: false };
  const logs = logsOf({ notes: 1, batches: [[child]], terminated: false }, root);
  const link = 'run_1/call_1_1';

  function driven(runs = ['run_1']) {
    const waiting = new Map<string, ((event: StreamEvent | undefined) => void)[]>();
    const [hurry, closed] = [vi.fn<(runId: string) => void>(), vi.fn<(runId: string) => void>()];
    const sourceOf = (runId: string): RunSource => ({
      next: () =>
        new Promise((resolve) => {
          const deliver = (value: StreamEvent | undefined) =>
            resolve(value === undefined ? { done: true, value } : { done: false, value });
          waiting.set(runId, [...(waiting.get(runId) ?? []), deliver]);
        }),
      return: () => {
        closed(runId);
        for (const deliver of waiting.get(runId) ?? []) deliver(undefined);
        return Promise.resolve({ done: true, value: undefined });
      },
      hurry: () => hurry(runId),
    });
    const from = { run_id: 'run_1', flattened: true, open: new Map(runs.map((runId) => [runId, 0])) };
    const stream = createRunStream({ from, sourceOf, show: (event) => event });
    const give = (runId: string, event: StreamEvent) => waiting.get(runId)?.shift()?.(event);
    return { stream, give, hurry, closed };
  }
  const at = (runId: string, n: number) => logs.get(runId)?.[n] as DurableEvent;

  it('holds a result until the child’s end is there, and asks for it once', async () => {
    const { stream, give, hurry } = driven();
    for (let n = 0; n < 3; n++) {
      const next = stream.next();
      await setImmediate();
      give('run_1', at('run_1', n));
      expect((await next).value).toEqual(at('run_1', n));
    }
    const next = stream.next();
    await setImmediate();
    give('run_1', at('run_1', 3));
    await setImmediate();
    give(link, at(link, 0));
    expect((await next).value).toEqual(at(link, 0));
    const [second, third, fourth] = [stream.next(), stream.next(), stream.next()];
    await setImmediate();
    expect(hurry.mock.calls).toEqual([[link]]);
    give(link, at(link, 1));
    await setImmediate();
    give(link, at(link, 2));
    const rest = (await Promise.all([second, third, fourth])).map(({ value }) => value as StreamEvent);
    expect(rest).toEqual([at(link, 1), at(link, 2), at('run_1', 3)]);
    expect(hurry).toHaveBeenCalledTimes(1);
  });

  it('lets live events of one run pass while another waits, and its cursor does not count them', async () => {
    const { stream, give } = driven();
    const first = stream.next();
    await setImmediate();
    give('run_1', at('run_1', 0));
    await first;
    const cursor = stream.cursor();
    const chunk = live({ type: 'text_chunk', block_id: 'b', attempt: 1, index: 0, text: 'x' });
    const second = stream.next();
    await setImmediate();
    give('run_1', chunk);
    expect((await second).value).toEqual(chunk);
    expect(stream.cursor()).toBe(cursor);
  });

  it('shows what came first first, whoever said it', async () => {
    const { stream, give } = driven(['run_1', 'run_1/call_1_1', 'run_1/call_1_2']);
    const chunk = (index: number) => live({ type: 'text_chunk', block_id: 'b', attempt: 1, index, text: 'x' });
    const first = stream.next();
    await setImmediate();
    give('run_1', chunk(0));
    await first;
    // Both are there before the reader asks again.
    give('run_1/call_1_2', chunk(1));
    await setImmediate();
    give('run_1/call_1_1', chunk(2));
    await setImmediate();
    expect([(await stream.next()).value, (await stream.next()).value]).toEqual([chunk(1), chunk(2)]);
  });

  it('that is left ends whoever waits on it, closes its sources and keeps its cursor', async () => {
    const { stream, give, closed } = driven();
    const first = stream.next();
    await setImmediate();
    give('run_1', at('run_1', 0));
    await first;
    const pending = stream.next();
    await setImmediate();
    await stream.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(closed.mock.calls).toEqual([['run_1']]);
    expect(readCursor(stream.cursor(), 'run_1', true).open).toEqual(new Map([['run_1', 1]]));
  });

  it('fails as its source does, once', async () => {
    const broken: RunSource = { next: () => Promise.reject(new Error('no answer')) };
    const from = { run_id: 'run_1', flattened: true, open: new Map([['run_1', 0]]) };
    const stream = createRunStream({ from, sourceOf: () => broken, show: (event) => event });
    await expect(stream.next()).rejects.toThrow('no answer');
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('does not pull ahead of its reader by more than one event a run', async () => {
    let pulled = 0;
    const sourceOf = (runId: string): RunSource => ({
      next: () => {
        pulled += 1;
        return Promise.resolve({
          done: false,
          value: live({ type: 'text_start', block_id: `${runId}${pulled}`, attempt: 1 }),
        });
      },
    });
    const open = new Map(Array.from({ length: 10 }, (_, n) => [n === 0 ? 'run_1' : `run_1/call_1_${n}`, 0]));
    const stream = createRunStream({
      from: { run_id: 'run_1', flattened: true, open },
      sourceOf,
      show: (event) => event,
    });
    for (let n = 0; n < 5; n++) await stream.next();
    await setImmediate();
    expect(pulled).toBeLessThanOrEqual(5 + 10);
  });
});
