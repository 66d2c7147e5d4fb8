/** Stream profiles of an application's own, from its configuration to credentials, requests and clients. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogOf } from '../../cli/gateway-catalog.js';
import { createHttpClient } from '../../client/http/index.js';
import { createClient } from '../../client/index.js';
import type { StreamProfileInput } from '../../contract/profiles.js';
import { defineAgent, defineConfig, defineTool } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { Caller, GatewayWorld, Orgs } from './gateway-world.js';

const SUPPORT: StreamProfileInput = {
  kinds: { run_completed: 'include', text_end: 'include', tool_requested: 'redact', tool_result: 'redact' },
  redact: { tool_requested: ['arguments', 'provider_meta'], tool_result: ['content'] },
};
const ENTRY = '📌 look at the harbour';
const CODE = 'print(6 * 7)';

const append = defineTool({
  tool_id: 'test.desk.append_scratchpad',
  description: 'Writes an entry.',
  input: z.object({ entry: z.string() }),
  run: () => 'written',
});
const read = defineTool({
  tool_id: 'test.desk.read_scratchpad',
  description: 'Reads the entries.',
  input: z.object({}),
  run: () => ENTRY,
});
const python = defineTool({
  tool_id: 'test.lab.code_interpreter',
  description: 'Runs code.',
  input: z.object({ code: z.string() }),
  run: () => '42\n',
});

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let runId: string;
const keys: Record<string, string> = {};

async function keyFor(...profiles: [string, ...string[]]): Promise<string> {
  const { key } = await orgs.keys.create({ org_id: orgs.acme, user_id: 'ann', role: 'member', profiles });
  return key;
}

beforeAll(async () => {
  const config = testConfig();
  const agents = [
    defineAgent({ agent_id: 'test.node', instructions: 'Follow the script.', tools: [append, read, python] }),
  ];
  const options = { ...config, agents, profiles: { support: SUPPORT } };
  world = await createWorld(options);
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { catalog: catalogOf(createRegistry(defineConfig(options))) });
  for (const name of ['support', 'user_chat', 'event_contract']) keys[name] = await keyFor(name);
  const calls = [
    call('desk.append_scratchpad', { entry: ENTRY }),
    call('desk.read_scratchpad', {}),
    call('lab.code_interpreter', { code: CODE }),
  ];
  const input = script([{ text: 'Looking.', tool_calls: calls }, { text: 'Done.' }]);
  const started = await gateway.as(keys['user_chat']).post('/v1/runs', { agent_id: 'test.node', input });
  expect(started.status, started.text).toBe(201);
  runId = String(started.body['run_id']);
  await world.logOf(runId);
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const linesOf = async (by: Caller, query: string) =>
  (await by.get(runPath(runId, `/events?follow=false&trailer=false&${query}`))).text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const typesOf = (lines: readonly { type?: unknown }[]) => [...new Set(lines.map(({ type }) => type))].toSorted();
const SHOWN = ['run_completed', 'text_end', 'tool_requested', 'tool_result'];

describe('a profile of the application’s own', () => {
  it('is what a key that names it sees, and no more', async () => {
    const me = gateway.as(keys['support']);
    const lines = await linesOf(me, '');
    expect(typesOf(lines)).toEqual(SHOWN);
    expect(lines.filter(({ type }) => type === 'tool_result').map(({ content }) => content)).toEqual(['', '', '']);
    for (const name of ['agent_debug', 'user_chat', 'nothing'])
      expect((await me.get(runPath(runId, `?profile=${name}`))).status, name).toBe(403);
    const snapshot = (await me.get(runPath(runId, '?profile=support'))).text;
    expect(snapshot).toContain('Done.');
    expect(snapshot).not.toContain('harbour');
  });

  it('may be one of several that a key asks for by name', async () => {
    const me = gateway.as(await keyFor('user_chat', 'support'));
    expect(typesOf(await linesOf(me, ''))).toContain('step_started');
    expect(typesOf(await linesOf(me, 'profile=support'))).toEqual(SHOWN);
  });

  it('that the gateway does not have lets nobody in, and says which', async () => {
    const { status, text } = await gateway.as(await keyFor('sales', 'agent_debug')).get('/v1/agents');
    expect([status, text]).toEqual([401, expect.stringContaining('sales')]);
  });

  it('is found by name in a client over Temporal, and in one over HTTP', async () => {
    const direct = createClient({ client: world.temporal, profiles: { support: SUPPORT } });
    const http = createHttpClient({ url: gateway.url, token: keys['support'] ?? '' });
    for (const { runs } of [direct, http]) {
      const types = new Set<string>();
      for await (const event of runs.stream(runId, { profile: 'support', follow: false })) types.add(event.type);
      expect([...types].filter((type) => type !== 'text_chunk').toSorted()).toEqual(SHOWN);
    }
    const whole = await direct.runs.get(runId, { profile: 'support' });
    expect(JSON.stringify(whole)).not.toContain('harbour');
    await direct.close();
    await http.close();
    expect(() => createClient({ client: world.temporal, profiles: { user_chat: SUPPORT } })).toThrow(/ships/);
  });

  it('may be written out in a client over Temporal', async () => {
    const types = new Set<string>();
    for await (const event of world.client.runs.stream(runId, { profile: SUPPORT, follow: false }))
      types.add(event.type);
    expect([...types].toSorted()).toEqual(SHOWN);
  });
});

describe('a page that speaks the event contract', () => {
  const CONTRACT = 'dialect=event_contract';

  it('has the entries of the scratchpad and the code, with the profile that is made for it', async () => {
    const lines = await linesOf(gateway.as(keys['event_contract']), CONTRACT);
    const entries = lines.flatMap(({ type, entry }) => (type === 'scratchpad_status' && entry !== null ? [entry] : []));
    expect(entries).toEqual([ENTRY, ENTRY]);
    const text = (type: string) => lines.flatMap((line) => (line['type'] === type ? [line['content']] : [])).join('');
    expect([text('hot_code'), text('hot_code_output')]).toEqual([CODE, '42\n']);
    const args = lines.filter(({ type }) => type === 'tool_call_start').map((line) => line['args']);
    expect(args).toEqual([{ entry: ENTRY }, {}, { code: CODE }]);
  });

  it('has no word in the place of what a narrower profile hides, and no entry', async () => {
    const lines = await linesOf(gateway.as(keys['user_chat']), CONTRACT);
    const pads = lines.filter(({ type }) => type === 'scratchpad_status');
    expect(pads.map(({ operation, state, entry }) => [operation, state, entry]).toSorted()).toEqual([
      ['append', 'completed', null],
      ['append', 'in_progress', null],
      ['read', 'completed', null],
      ['read', 'in_progress', null],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/redacted|harbour|print/);
    expect(typesOf(lines)).not.toContain('hot_code');
  });
});
