/** What tools give beside texts, as readers over HTTP get it: values, images, names for people. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StreamProfileInput } from '../../contract/profiles.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { Caller, GatewayWorld, Orgs } from './gateway-world.js';

const VALUES = {
  object: { peaks: [{ name: 'Monte Rosa', metres: 4634 }] },
  list: [1, 'two', null],
  number: 7,
  nothing: null,
};
const measure = defineTool({
  tool_id: 'test.data.measure',
  description: 'Gives a value.',
  display_name: 'Measure peaks',
  input: z.object({ what: z.enum(['object', 'list', 'number', 'nothing', 'text', 'large']) }),
  run({ what }) {
    if (what === 'text') return '{"as":"text"}';
    return what === 'large' ? { rows: 'x'.repeat(100_000) } : VALUES[what];
  },
});
const SMALL = Buffer.from('a small picture');
const LARGE = Buffer.alloc(200_000, 'picture ');
const shoot = defineTool({
  tool_id: 'test.data.shoot',
  description: 'Takes a picture.',
  input: z.object({ size: z.enum(['small', 'large']) }),
  run({ size }) {
    const base64 = (size === 'small' ? SMALL : LARGE).toString('base64');
    return [
      { type: 'text' as const, text: 'the page' },
      {
        type: 'image_url' as const,
        image_url: { url: `data:image/png;base64,${base64}`, media_type: 'image/png' as const },
      },
    ];
  },
});

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let [ann, chat]: Caller[] = [];

beforeAll(async () => {
  const config = testConfig();
  const agents = [defineAgent({ agent_id: 'test.node', instructions: 'Follow the script.', tools: [measure, shoot] })];
  world = await createWorld({ ...config, agents });
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { limits: { requests_per_second: 1_000, request_burst: 1_000 } });
  const narrow = await orgs.keys.create({ org_id: orgs.acme, user_id: 'ann', role: 'member', profiles: ['user_chat'] });
  [ann, chat] = [orgs.ann, narrow.key].map((key) => gateway.as(key));
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

async function run(calls: { tool: string; args: unknown }[]): Promise<string> {
  const input = script([{ tool_calls: calls }, { text: 'done' }]);
  const { body, text } = await ann!.post('/v1/runs', { agent_id: 'test.node', input });
  expect(body['run_id'], text).toBeDefined();
  const runId = body['run_id'] as string;
  await world.logOf(runId);
  return runId;
}

interface Result {
  tool_call_id: string;
  result: unknown;
}
/** Of any of the dialects: what the tests look at. */
interface Line {
  type: string;
  tool?: string;
  display_name?: string;
  data: { tool_result: Result };
}
const linesOf = async (by: Caller, runId: string, dialect: string): Promise<Line[]> =>
  (await by.get(runPath(runId, `/events?follow=false&trailer=false&dialect=${dialect}`))).text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

describe('a structured result', () => {
  const asked = ['object', 'list', 'number', 'nothing', 'text', 'large'];
  let runId: string;
  beforeAll(async () => {
    runId = await run(asked.map((what) => call('data.measure', { what })));
  });
  const byCall = (results: Result[]) =>
    asked.map((_, n) => results.find(({ tool_call_id }) => tool_call_id === `call_1_${n + 1}`)?.result);

  it('is a value in task_steps, and not its JSON text; a text stays one', async () => {
    const chunks = (await linesOf(ann!, runId, 'task_steps')).filter(({ type }) => type === 'tool_result_part');
    const results = byCall(chunks.map(({ data }) => data.tool_result));
    expect(results.slice(0, 5)).toEqual([...Object.values(VALUES), '{"as":"text"}']);
    // What is too large for the log is its trimmed text, which says where the rest is.
    expect(results[5]).toEqual(expect.stringContaining('read_output'));
    const { body } = await ann!.get(runPath(runId, '/steps'));
    const steps = body['steps'] as { parts: { type: string; tool_result: Result }[] }[];
    const parts = steps.flatMap((step) => step.parts);
    const kept = byCall(parts.flatMap(({ type, tool_result }) => (type === 'tool_result' ? [tool_result] : [])));
    expect(kept).toEqual(results);
  });

  it('is beside its text in the log, and only as text where it is too large for that', async () => {
    const results = ofType(await world.logOf(runId), 'tool_result').toSorted((a, b) => a.seq - b.seq);
    const of = (n: number) => results.find(({ tool_call_id }) => tool_call_id === `call_1_${n}`);
    expect(of(1)).toMatchObject({ content: JSON.stringify(VALUES.object), value: VALUES.object });
    expect(of(5)).not.toHaveProperty('value');
    expect(of(6)).toMatchObject({ trimmed: true });
    expect(of(6)).not.toHaveProperty('value');
  });

  it('is hidden with its text', async () => {
    const text =
      JSON.stringify(await linesOf(chat!, runId, 'perdure')) +
      JSON.stringify(await linesOf(chat!, runId, 'task_steps'));
    expect(text).not.toContain('Monte Rosa');
    const own: StreamProfileInput = {
      kinds: { run_completed: 'include', tool_result: 'redact' },
      redact: { tool_result: ['content'] },
    };
    for await (const event of world.client.runs.stream(runId, { profile: own, follow: false })) {
      expect(event).not.toHaveProperty('value');
    }
  });

  it.each([
    ['small', { seen: ['a', 'b'] }],
    ['as large as the log takes', { seen: ['x'.repeat(60_000)] }],
  ])('of a client’s tool is a value too, %s', async (_size, output) => {
    const tool = { name: 'client_look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };
    const input = script([{ tool_calls: [{ tool: 'client.declared.client_look', args: {} }] }, { text: 'done' }]);
    const { body, text } = await ann!.post('/v1/runs', { agent_id: 'test.node', input, client_tools: [tool] });
    expect(body['run_id'], text).toBeDefined();
    const id = body['run_id'] as string;
    await until(async () => (await world.client.runs.get(id)).awaits.length === 1, 'the call of the client’s tool');
    const [open] = (await world.client.runs.get(id)).awaits;
    const results = [{ tool_call_id: 'call_1_1', status: 'success', output }];
    const answer = await ann!.post(runPath(id, '/tool-results'), { await_id: open?.await_id, results });
    expect(answer.status, answer.text).toBeLessThan(300);
    await world.logOf(id);
    const chunks = (await linesOf(ann!, id, 'task_steps')).filter(({ type }) => type === 'tool_result_part');
    expect(chunks.map(({ data }) => data.tool_result.result)).toEqual([output]);
  });
});

describe('the name of a tool for people', () => {
  it('is in tool_call of the agent events, and in the log', async () => {
    const runId = await run([call('data.measure', { what: 'number' }), call('data.shoot', { size: 'small' })]);
    const calls = (await linesOf(ann!, runId, 'agent_events')).filter(({ type }) => type === 'tool_call');
    expect(calls.map(({ tool, display_name }) => [tool, display_name])).toEqual([
      ['measure', 'Measure peaks'],
      ['shoot', undefined],
    ]);
    expect(ofType(await world.logOf(runId), 'tool_requested')[0]).toMatchObject({ display_name: 'Measure peaks' });
  });
});

describe('a picture that a tool gives', () => {
  it.each([
    ['small', SMALL],
    ['large', LARGE],
  ])('is the screenshot of its result in the agent events, %s', async (size, bytes) => {
    const runId = await run([call('data.shoot', { size })]);
    const [result] = (await linesOf(ann!, runId, 'agent_events')).filter(({ type }) => type === 'tool_result');
    expect(result).toMatchObject({ tool: 'shoot', screenshot_base64: bytes.toString('base64') });
    const [hidden] = (await linesOf(chat!, runId, 'agent_events')).filter(({ type }) => type === 'tool_result');
    expect(hidden).not.toHaveProperty('screenshot_base64');
  });

  it('can be fetched where it is too large for the log, by whoever sees the result', async () => {
    const runId = await run([call('data.shoot', { size: 'large' })]);
    const [result] = ofType(await world.logOf(runId), 'tool_result');
    const part = ((result?.content ?? []) as { type: string; image_url?: { url: string } }[])[1];
    const id = /^artefact:(.+)$/.exec(part?.image_url?.url ?? '')?.[1] ?? '';
    const path = runPath(runId, `/artefacts/${id}`);
    const { status, headers, text } = await ann!.get(path);
    expect([status, headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(text).toBe(LARGE.toString());
    expect((await chat!.get(path)).status).toBe(404);
    expect((await gateway.as(orgs.gus).get(path)).status).toBe(404);
  });

  it('has an address in task_steps that needs no credential', async () => {
    const runId = await run([call('data.shoot', { size: 'large' })]);
    const [chunk] = (await linesOf(ann!, runId, 'task_steps')).filter(({ type }) => type === 'tool_result_part');
    const result = chunk?.data.tool_result.result as { image_url?: { url: string } }[] | undefined;
    const url = result?.[1]?.image_url?.url ?? '';
    expect(url).toMatch(/^\/v1\/files\//);
    const response = await fetch(gateway.url + url);
    expect([response.status, await response.text()]).toEqual([200, LARGE.toString()]);
  });

  it('that the caller gave can be fetched as well', async () => {
    const url = `data:image/png;base64,${LARGE.toString('base64')}`;
    const input = [
      { type: 'text', text: script([{ text: 'nice' }]) },
      { type: 'image_url', image_url: { url, media_type: 'image/png' } },
    ];
    const { body } = await ann!.post('/v1/runs', { agent_id: 'test.node', input });
    const runId = String(body['run_id']);
    const [started] = ofType(await world.logOf(runId), 'run_started');
    const given = (started?.input ?? []) as { image_url?: { url: string } }[];
    const kept = given[1]?.image_url?.url ?? '';
    expect(kept).toMatch(/^artefact:/);
    expect((await ann!.get(runPath(runId, `/artefacts/${kept.slice('artefact:'.length)}`))).text).toBe(
      LARGE.toString(),
    );
  });
});
