/** What a stream looks like on the wire: headers, bytes, heartbeats, ends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../../contract/events.js';
import { defineAgent } from '../../../kit/index.js';
import { call, script, testConfig } from '../../support/test-agents.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { DIALECTS } from '../../../dialects/index.js';
import { jsonLines, read, serverSentEvents } from './read-stream.js';
import { serveStreams } from './stream-server.js';
import type { StreamServer } from './stream-server.js';

const story = script([
  { text: 'First I look.', tool_calls: [call('tools.echo', { text: 'a' })] },
  { text: 'So it is.' },
]);
const hanging = script([{ text: ['Well, ', 'now'], hang: true }]);

describe('a stream on the wire', () => {
  let world: World;
  let server: StreamServer;
  let runId: string;
  let log: DurableEvent[];
  const at = (query = '', id = runId) => `${server.url}/v1/runs/${encodeURIComponent(id)}/events${query}`;
  const start = async (input: string, agent_id = 'test.agent') =>
    (await world.client.runs.start({ agent_id, input })).run_id;

  beforeAll(async () => {
    const config = testConfig();
    const asking = defineAgent({ agent_id: 'test.asking', instructions: 'Follow the script.', clarifications: true });
    world = await createWorld({ ...config, agents: [...config.agents, asking] });
    server = await serveStreams(world.client.runs, { heartbeatMs: 50 });
    runId = await start(story);
    log = await world.logOf(runId);
  });
  afterAll(async () => {
    await server.close();
    await world.end();
  });

  it('is NDJSON unless asked otherwise: the bytes of the log', async () => {
    const { status, headers, text } = await read(at('?commit=true'));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('perdure-tail-seq')).toBe(String(log.length - 1));
    expect(text).toBe(log.map((event) => `${JSON.stringify(event)}\n`).join(''));
  });

  it('trailer=true adds to NDJSON a last line that says how it ended', async () => {
    const { text } = await read(at('?commit=true&trailer=true'));
    const cursor = `${log.length - 1}.0`;
    const end = `{"perdure":"end","reason":"completed","status":"success","run_id":"${runId}","cursor":"${cursor}"}`;
    expect(text).toBe([...log.map((event) => JSON.stringify(event)), end, ''].join('\n'));
  });

  it.each(Object.keys(DIALECTS))(
    'NDJSON of %s has no line that is not of the dialect, unless asked for',
    async (name) => {
      // What no dialect but our own has words for: a pause, a run that fails, and one that the engine ended.
      const asking = await start(
        script([
          { tool_calls: [{ tool: 'runtime.user.ask_clarification', args: { question: 'Which?' } }] },
          { fail: { code: 'model_unauthorized' } },
        ]),
        'test.asking',
      );
      await until(async () => (await world.client.runs.get(asking)).awaits.length === 1, 'the question');
      const paused = (await read(at(`?dialect=${name}&follow=false`, asking))).text;
      const [open] = (await world.client.runs.get(asking)).awaits;
      await world.client.runs.answerClarification(asking, { await_id: open?.await_id ?? '', answer: 'this' });
      await world.logOf(asking);
      const failed = (await read(at(`?dialect=${name}`, asking))).text;
      const gone = await start(hanging);
      await until(async () => (await world.client.runs.get(gone)).steps.length === 1, 'the first step');
      await world.temporal.workflow.getHandle(gone).terminate('test');
      const ended = (await read(at(`?dialect=${name}`, gone))).text;
      for (const text of [paused, failed, ended]) {
        expect(jsonLines(text).filter((line) => !('type' in line))).toEqual([]);
        expect(text).not.toContain('"perdure"');
      }
      const asked = jsonLines((await read(at(`?dialect=${name}&trailer=true`, asking))).text);
      expect(asked.at(-1)).toMatchObject({ perdure: 'end', reason: 'completed', status: 'failed' });
    },
  );

  it('is server-sent events by Accept or format, each with its cursor as id, the end by an event of its own', async () => {
    const byAccept = await read(at('?commit=true'), {
      headers: { accept: 'application/x-ndjson;q=0.5, text/event-stream' },
    });
    expect(byAccept.headers.get('content-type')).toBe('text/event-stream');
    const lines = log.map((event) => `id: ${event.seq}.0\ndata: ${JSON.stringify(event)}\n\n`);
    const cursor = `${log.length - 1}.0`;
    const end = { perdure: 'end', reason: 'completed', status: 'success', run_id: runId, cursor };
    expect(byAccept.text).toBe(`${lines.join('')}event: perdure.end\ndata: ${JSON.stringify(end)}\n\n`);
    expect((await read(at('?format=sse&commit=true'))).text).toBe(byAccept.text);
    const { text } = await read(at('?format=ndjson&commit=true'), { headers: { accept: 'text/event-stream' } });
    expect(jsonLines(text)).toHaveLength(log.length);
  });

  it('trailer=false is what is sent if nothing is said', async () => {
    const { text, cut } = await read(at('?trailer=false&commit=true'));
    expect(cut).toBe(false);
    expect(text).toBe(log.map((event) => `${JSON.stringify(event)}\n`).join(''));
  });

  it('envelope=true puts cursor and run around each line, in both formats', async () => {
    const [first, ...rest] = jsonLines((await read(at('?envelope=true&commit=true'))).text);
    const { run_id, agent_id, root_run_id } = log[0] as DurableEvent;
    expect(first).toEqual({ cursor: '0.0', run_id, agent_id, root_run_id, seq: 0, data: log[0] });
    expect(rest.slice(0, -1).map(({ data }) => data)).toEqual(log.slice(1));
    // Around the lines is not the dialect's own anyway: what is asked for by that has its end.
    expect(rest.at(-1)).toMatchObject({ perdure: 'end' });
    const bare = jsonLines((await read(at('?envelope=true&commit=true&trailer=false'))).text);
    expect(bare).toEqual([first, ...rest.slice(0, -1)]);
    const events = serverSentEvents((await read(at('?envelope=true&format=sse'))).text);
    expect(JSON.parse(events[0]?.data ?? '')).toEqual(first);
  });

  it('has every text in chunks before its closing event, also for one who comes after the end', async () => {
    const lines = jsonLines((await read(at('?trailer=false'))).text);
    expect(lines.filter((line) => 'seq' in line)).toEqual(log);
    for (const end of log) {
      if (end.type !== 'text_end') continue;
      const before = lines.slice(
        0,
        lines.findIndex((line) => line['event_id'] === end.event_id),
      );
      const chunks = before.filter((line) => line['type'] === 'text_chunk' && line['block_id'] === end.block_id);
      expect(chunks.map((chunk) => chunk['text']).join('')).toBe(end.text);
    }
  });

  it('an event can be no line, one or three, each with a place of its own', async () => {
    const events = serverSentEvents((await read(at('?dialect=triple&format=sse'))).text);
    const ids = log.flatMap(({ type, seq }) => {
      if (type === 'step_started') return [];
      return type === 'text_end' ? [`${seq}.0`, `${seq}.1`, `${seq}.2`] : [`${seq}.0`];
    });
    expect(events.slice(0, -1).map(({ id }) => id)).toEqual(ids);
  });

  it('follow=false ends at the tail, and says that it was that', async () => {
    const going = await start(hanging);
    await until(async () => (await world.client.runs.get(going)).steps.length === 1, 'the first step');
    const lines = jsonLines((await read(at('?follow=false&trailer=true', going))).text);
    const tail = lines.length - 2;
    expect(lines.at(-1)).toEqual({ perdure: 'end', reason: 'tail', run_id: going, cursor: `${tail}.end` });
    expect(lines.at(-2)).toMatchObject({ type: 'step_started', seq: tail });
    await world.client.runs.cancel(going);
    const canceled = jsonLines((await read(at('?trailer=true', going))).text).at(-1);
    expect(canceled).toMatchObject({ perdure: 'end', reason: 'completed', status: 'canceled' });
  });

  it('heartbeats break a silence: blank lines in NDJSON, comments in SSE', async () => {
    const going = await start(hanging);
    const said = (text: string) => text.includes('"type":"text_chunk"');
    const ndjson = await read(at('', going), { enough: (text) => said(text) && text.endsWith('\n\n\n') });
    expect(jsonLines(ndjson.text).length).toBeGreaterThan(2);
    const sse = await read(at('?format=sse', going), { enough: (text) => said(text) && text.endsWith(':\n\n:\n\n') });
    expect(serverSentEvents(sse.text).length).toBeGreaterThan(2);
    await world.client.runs.cancel(going);
  });

  it('commit=true shows only committed text', async () => {
    const text = Array.from({ length: 30 }, (_, n) => `word${n} `);
    const going = await start(script([{ text, delay_ms: 10 }]));
    const lines = jsonLines((await read(at('?dialect=triple&commit=true', going))).text);
    expect(lines.filter((line) => 'say' in line)).toEqual([{ say: text.join('') }]);
  });

  it('a run that was terminated ends by what the engine says', async () => {
    const going = await start(hanging);
    const reading = read(at('?dialect=triple&trailer=true', going));
    await until(async () => (await world.client.runs.get(going)).steps.length === 1, 'the first step');
    await world.temporal.workflow.getHandle(going).terminate('test');
    const end = jsonLines((await reading).text).at(-1);
    expect(end).toMatchObject({ perdure: 'end', reason: 'terminated', message: expect.stringContaining(going) });
    expect(end).not.toHaveProperty('status');
  });

  it.each([
    ['?format=xml', 'format: "xml" is none of ndjson, sse'],
    [
      '?dialect=klingon',
      'dialect: there is no dialect "klingon", only perdure, event_contract, task_steps, agent_events, triple',
    ],
    ['?children=some', 'children: "some" is none of'],
    ['?follow=maybe', 'follow: "maybe" is none of true, false'],
    ['?on_disconnect=die', 'on_disconnect: "die" is none of cancel, continue'],
    ['?from=99999', 'from: run'],
    ['?from=99999999999999999999', 'is no number of an event'],
    ['?from=abc', 'cursor: cannot resume from it'],
    ['?from=12.x', 'cursor: cannot resume from it'],
    ['?from=9999.0', 'cursor: cannot resume from it'],
    ['?from=3.0.!!', 'not of this dialect'],
    ['?from=abcdef.0', 'of a flattened stream'],
    ['?from=3.0&children=flattened', 'cursor: cannot resume from it'],
    ['?from=3&children=flattened', 'from: it counts the events of one run'],
  ])('%s is refused with the reason', async (query, reason) => {
    const { status, text } = await read(at(query));
    expect({ status, text }).toEqual({
      status: 400,
      text: expect.stringContaining(JSON.stringify(reason).slice(1, -1)),
    });
    expect(server.open()).toBe(0);
  });

  it('a profile that hides child runs cannot be widened', async () => {
    const { status, text } = await read(at('?profile=childless&children=flattened'));
    expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining('does not show child runs') });
    expect((await read(at('?profile=childless&children=invisible'))).status).toBe(200);
    expect((await read(at('?profile=metrics&children=linked'))).status).toBe(200);
  });
});
