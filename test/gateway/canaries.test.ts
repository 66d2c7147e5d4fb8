/**
 * Secrets in six places, looked for wherever something of a run can be read: in what the model is sent, in the lines of
 * worker and gateway, in events, in answers over HTTP, in the histories of the Temporal server and the file that it keeps
 * them in, in the archive.
 *
 * What an application's code threw is for its author and for `agent_debug`: it may be in a debug field, and in what the
 * worker tells of it. A credential may be nowhere.
 */
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { describeThrown } from '../../cli/describe-thrown.js';
import { SEARCH_ATTRIBUTES } from '../../contract/names.js';
import { agentAsTool, defineAgent, defineTool, defineToolset, ToolError } from '../../kit/index.js';
import { openai, scripted, scriptFromInput } from '../../providers/index.js';
import type { Records } from '../../store/records.js';
import { mcpServer } from '../../tools/index.js';
import { startEmbeddedServer } from '../../worker/embedded-server.js';
import type { EmbeddedServer } from '../../worker/embedded-server.js';
import { errorReply, startWireServer } from '../providers/wire-server.js';
import type { WireServer } from '../providers/wire-server.js';
import { createDataDir } from '../support/data-dir.js';
import { recordsIn } from '../support/records.js';
import { script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { startBadServer } from '../tools/mcp/bad-server.js';
import type { BadServer } from '../tools/mcp/bad-server.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { Caller, GatewayWorld, Orgs } from './gateway-world.js';
import { dataOf, startBody, threadPath } from './threads/thread-gateway.js';
import { plainHistory } from './plain-history.js';

/** Thrown by the application's code: of the functions around a tool, each its own. */
const THROWN = {
  tool: 'k7Qtool-w4Jx9Zt2',
  retried: 'm2Xretried-p8Vc5Ny',
  rule: 'h5Rrule-b3Kd8Fq1',
  prompt: 'j9Pprompt-s6Lw2Gm',
  finalizer: 'd4Ffinal-v7Tb1Hk',
  toolset: 'n8Stoolset-c5Yr3Wd',
  aborted: 'u3Babort-x9Me6Zp',
  planner: 'q6Gplanner-t2Hf7Js',
};
/** Credentials. */
const VENDOR = 'vk-R8sLq2Zx7Tn4Wb9Yc3Kd6Vf1';
const ENVIRONMENT = 'Pw9xKe2Rt7Ym4Bn8Qs3Zd';
const MCP = 'mcp-J4hTq8Wn2Xz6Rb9Lc5';
const HOME = `${homedir()}/.config/shop/settings.json`;
/** A word that a tool says on purpose: that this one is found shows that the others would be. */
const MEANT = 'g1Wmeant-l5Zk9Cx';

/** Every stretch of eight characters, so that a piece counts as much as the whole. */
const pieces = (secret: string) => Array.from({ length: secret.length - 7 }, (_, at) => secret.slice(at, at + 8));
const base64 = (text: string) => Buffer.from(text).toString('base64');
const hex = (text: string) => Buffer.from(text).toString('hex');
const formsOf = (secret: string) => [
  ...pieces(secret),
  ...pieces(hex(secret)),
  ...['', 'x', 'xx'].flatMap((before) => pieces(base64(before + secret).slice(4, -4))),
];
const found = (text: string, secrets: readonly string[]) => secrets.filter((secret) => text.includes(secret));

const throwing = (secret: string) => () => {
  throw new TypeError(`no such order ${secret} in ${HOME}`, { cause: new Error(`because of ${secret}`) });
};
const tool = (name: string, more: Partial<Parameters<typeof defineTool>[0]>) =>
  defineTool({ tool_id: `test.canary.${name}`, description: name, input: z.object({}), run: () => 'done', ...more });

const model = scripted(scriptFromInput);
const helper = defineAgent({ agent_id: 'test.helper', instructions: 'Play the input.' });
const child = { description: 'A child.', input: z.object({}) };
const once = () => JSON.stringify({ turns: [{ text: 'Done.' }] });

const tools = [
  tool('tool', { run: throwing(THROWN.tool) }),
  tool('retried', { idempotent: true, run: throwing(THROWN.retried) }),
  tool('rule', { approval: throwing(THROWN.rule) }),
  agentAsTool(helper, { tool_id: 'test.canary.prompt', ...child, prompt: throwing(THROWN.prompt) }),
  agentAsTool(helper, {
    tool_id: 'test.canary.finalizer',
    ...child,
    prompt: once,
    finalizer: throwing(THROWN.finalizer),
  }),
  tool('aborted', {
    timeout: 200,
    run: (_input, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(`left ${THROWN.aborted}`)))),
  }),
  tool('environment', {
    run: () => {
      throw new Error(`GET https://shop.test/?password=${ENVIRONMENT} failed, sent ${base64(`shop:${ENVIRONMENT}`)}`);
    },
  }),
  tool('says', {
    run: () => {
      throw new ToolError('unavailable', `closed ${MEANT}, refused with ${ENVIRONMENT.slice(0, 14)}`);
    },
  }),
];
const NAMES = ['tool', 'retried', 'rule', 'prompt', 'finalizer', 'aborted', 'environment', 'says'];

const broken = defineToolset({
  toolset_id: 'far.shelf',
  optional: true,
  open: () => ({ discover: throwing(THROWN.toolset), bind: () => ({ input: z.object({}), run: () => '' }), close }),
});
async function close(): Promise<void> {}

let [vendor, far, refusing]: [WireServer?, BadServer?, BadServer?] = [];
let [world, orgs, gateway]: [World?, Orgs?, GatewayWorld?] = [];
const [reported, told]: [string[], string[]] = [[], []];
const credentials: string[] = [];
const runs: Record<string, string> = {};
/** What users get, and what those get who may see everything. */
const answers = { user_chat: '', metrics: '', agent_debug: '' };
let histories = { all: '', withoutDebug: '' };
/** The database of the Temporal server, a file as in development; and all that the archive has. */
let [server, records]: [EmbeddedServer?, Records?] = [];
let [databaseFile, archived] = ['', ''];

/** What an error of a vendor repeats of the key. */
const ECHOES = [
  VENDOR,
  VENDOR.slice(0, 12),
  VENDOR.slice(9, 17),
  VENDOR.slice(-9),
  `${VENDOR.slice(0, 5)}*****${VENDOR.slice(-3)}`,
  VENDOR.toUpperCase(),
  base64(`user:${VENDOR}`),
  hex(VENDOR),
];

beforeAll(async () => {
  const folder = await createDataDir('canary-server');
  server = await startEmbeddedServer({
    dataDir: folder,
    port: 0,
    uiPort: false,
    namespace: 'default',
    searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const])),
    report: () => {},
  });
  records = await recordsIn(await createDataDir('canary-records'));
  vi.stubEnv('CANARY_SHOP_PASSWORD', ENVIRONMENT);
  vendor = await startWireServer('/v1');
  far = await startBadServer({
    onCall({ id }, response, { headers }) {
      const message = `refused ${headers.authorization}, ${base64(headers.authorization ?? '')}, ${MCP.slice(5, 14)}`;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message } }));
    },
  });
  refusing = await startBadServer({
    list: () => {
      throw new Error('unused');
    },
  });
  const url = ({ server }: BadServer) => ('http' in server ? server.http.url : '');
  const headers = { authorization: `Bearer ${MCP}` };
  world = await createWorld(
    {
      models: {
        script: { provider: model, model: 'scripted-1', default: true },
        vendor: { provider: openai({ baseURL: vendor.baseURL, apiKey: VENDOR }), model: 'gpt-1' },
      },
      agents: [
        helper,
        defineAgent({ agent_id: 'test.tools', instructions: 'Play the input.', tools: [...tools, broken] }),
        defineAgent({ agent_id: 'test.planned', instructions: 'Plan.', planner: throwing(THROWN.planner) }),
        defineAgent({ agent_id: 'test.vendor', instructions: 'Answer.', model: 'vendor' }),
        defineAgent({
          agent_id: 'test.mcp',
          instructions: 'Play the input.',
          tools: [mcpServer({ name: 'far', http: { url: url(far), headers } })],
        }),
        defineAgent({
          agent_id: 'test.unsendable',
          instructions: 'Play the input.',
          tools: [
            mcpServer(
              { name: 'unsendable', http: { url: url(refusing), headers: { authorization: `Bearer ${MCP}\nx` } } },
              { optional: true },
            ),
          ],
        }),
      ],
    },
    {
      address: server.address,
      archive: records.archive,
      report: (line) => void reported.push(line),
      onThrown: (thrown) => void told.push(describeThrown(thrown)),
    },
  );
  orgs = await createOrgs();
  const agents = ['test.tools', 'test.planned', 'test.vendor', 'test.mcp', 'test.unsendable'];
  gateway = await serveFor(world, orgs.auth, {
    limits: { requests_per_second: 1_000, request_burst: 1_000 },
    catalog: {
      agents: agents.map((agent_id) => ({ agent_id, model_profile: 'script', tools: [] })),
      model_profiles: [],
      policies: new Map(),
    },
  });
  await actOut(world, orgs, gateway, vendor);
  archived = await readArchive(records);
  databaseFile = await readDatabase(folder);
}, 120_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await gateway?.stop();
  await world?.end();
  await server?.stop();
  await records?.close();
  await orgs?.remove();
  await Promise.all([vendor?.close(), far?.stop(), refusing?.stop()]);
});

/** All that can go wrong, once, and then all that can be read of it. */
async function actOut(at: World, { acme, keys }: Orgs, { as }: GatewayWorld, wire: WireServer): Promise<void> {
  const callers = {} as Record<keyof typeof answers, Caller>;
  for (const profile of Object.keys(answers) as (keyof typeof answers)[]) {
    const { key } = await keys.create({ org_id: acme, user_id: 'ann', role: 'member', profiles: [profile] });
    credentials.push(key);
    callers[profile] = as(key);
  }
  const asked = callers.agent_debug;
  const start = async (name: string, agent_id: string, input: string) => {
    const { body, text } = await asked.post('/v1/runs', { agent_id, input });
    const run_id = body['run_id'] as string;
    expect(run_id, text).toEqual(expect.any(String));
    runs[name] = run_id;
    await at.logOf(run_id);
  };
  const turns = [{ tool_calls: NAMES.map((name) => ({ tool: `test.canary.${name}` })) }, { text: 'I see.' }];
  await start('tools', 'test.tools', script(turns));
  await start('planned', 'test.planned', 'plan');
  for (const [n, echo] of ECHOES.entries()) {
    wire.reply(errorReply(401, { message: `Incorrect API key provided: ${echo}.`, type: 'invalid_request_error' }));
    await start(`vendor${n}`, 'test.vendor', 'hello');
  }
  await start('mcp', 'test.mcp', script([{ tool_calls: [{ tool: 'mcp.far.act' }] }, { text: 'I see.' }]));
  await start('unsendable', 'test.unsendable', script([{ text: 'I see.' }]));
  const thread = dataOf(await asked.post('/v1/ai/threads', startBody(turns, { agent_id: 'test.tools' })));
  const failing = dataOf(await asked.post('/v1/ai/threads', startBody([{ text: 'x' }], { agent_id: 'test.planned' })));
  const threads = [thread.thread_id, failing.thread_id];
  for (const id of threads) {
    await until(async () => (await at.client.threads.get(id)).status === 'user_turn', `the turn of ${id}`);
  }
  for (const [profile, caller] of Object.entries(callers)) {
    const paths = [
      ...Object.values(runs).flatMap((id) =>
        ['', '/tree', '/transcript', '/steps', '/events', '/events?dialect=task_steps', '/artefacts/none'].map((rest) =>
          runPath(id, rest),
        ),
      ),
      ...threads.flatMap((id) => [threadPath(id), `/v1/threads/${id}`, `/v1/threads/${id}/events?follow=false`]),
      ...(await Promise.all(threads.map((id) => deltaPath(caller, id)))),
      '/v1/runs',
      '/v1/none',
    ];
    for (const path of paths) {
      const { status, text, headers } = await caller.get(path);
      expect(status, `${path}: ${text}`).toBeLessThan(500);
      answers[profile as keyof typeof answers] += `${JSON.stringify([...headers])}${text}\n`;
    }
    answers[profile as keyof typeof answers] += (await caller.post('/v1/runs', { agent_id: 'test.none' })).text;
  }
  histories = await plainHistory(at.temporal, at.server.taskQueue);
}

/** Of all there is. */
async function deltaPath(caller: Caller, threadId: string): Promise<string> {
  const { continuation_token } = dataOf(await caller.get(threadPath(threadId, '?load_messages=false')));
  return threadPath(threadId, `/delta?next_token=${encodeURIComponent(continuation_token)}`);
}

async function readArchive({ archive }: Records): Promise<string> {
  const ids = Object.values(runs);
  await until(async () => (await archive.findMissing(ids)).length === 0, 'all runs in the archive');
  let text = '';
  for (const id of ids) {
    text += JSON.stringify(await archive.getRun(id));
    for await (const event of archive.readEvents(id)) text += `${JSON.stringify(event)}\n`;
  }
  return text;
}

/** With what is written and not yet in its place. */
async function readDatabase(folder: string): Promise<string> {
  const files = (await readdir(folder)).filter((name) => /\.db(-wal)?$/.test(name));
  expect(files).not.toEqual([]);
  return Buffer.concat(await Promise.all(files.map((name) => readFile(join(folder, name))))).toString('latin1');
}

/** Where nobody may find anything, nor a credential be. */
const places = () => ({
  'the model': JSON.stringify(model.calls),
  'user_chat over HTTP': answers.user_chat,
  'metrics over HTTP': answers.metrics,
  'the log of the gateway': gateway?.log() ?? '',
  'the lines of the worker': reported.join('\n'),
  'histories, without their debug fields': histories.withoutDebug,
});
const PLACES = Object.keys(places()) as (keyof ReturnType<typeof places>)[];
const debugging = () => ({
  'agent_debug over HTTP': answers.agent_debug,
  'what the worker tells of what was thrown': told.join('\n'),
  histories: histories.all,
  'the file of the Temporal server': databaseFile,
  'the archive': archived,
});
const DEBUGGING = Object.keys(debugging()) as (keyof ReturnType<typeof debugging>)[];

describe('what the application’s code throws', () => {
  it.each(PLACES)('is not in %s', (place) => {
    expect(found(places()[place], Object.values(THROWN))).toEqual([]);
  });

  it('is there for its author, and for agent_debug: each of them', () => {
    // What a tool says as it is stopped is not told as news.
    const { aborted, ...rest } = THROWN;
    expect(found(told.join('\n'), Object.values(rest))).toEqual(Object.values(rest));
    const { toolset, ...inLog } = THROWN;
    expect(found(answers.agent_debug, Object.values(inLog))).toEqual(Object.values(inLog));
    expect([aborted, toolset].every((secret) => secret !== '')).toBe(true);
  });

  it('is told to the model as a failure, with the id of its tool and what kind of error it was', () => {
    const read = JSON.stringify(model.calls);
    expect(read).toContain('test.canary.tool failed unexpectedly (TypeError)');
    expect(read).toContain('A rule of test.canary.rule failed unexpectedly (TypeError)');
    expect(read).toContain('The finalizer of test.canary.finalizer failed unexpectedly (TypeError)');
  });

  it('shows no path of the machine to users, nor to the model', () => {
    for (const place of ['the model', 'user_chat over HTTP', 'metrics over HTTP'] as const) {
      expect(found(places()[place], [homedir(), process.cwd(), 'node_modules', '.ts:'])).toEqual([]);
    }
  });
});

describe('a credential', () => {
  it.each([...PLACES, ...DEBUGGING])('is not in %s, nor a piece of it', (place) => {
    const text = { ...places(), ...debugging() }[place];
    expect(found(text, [VENDOR, ENVIRONMENT, MCP].flatMap(formsOf))).toEqual([]);
    expect(found(text.toLowerCase(), [VENDOR.toLowerCase(), `***${VENDOR.slice(-3).toLowerCase()}`])).toEqual([]);
    expect(found(text, credentials.map((key) => key.split('_').at(-1) ?? key).flatMap(formsOf))).toEqual([]);
  });
});

it('looks where things are: what a tool says on purpose is in each of them', () => {
  const texts = [JSON.stringify(model.calls), histories.withoutDebug];
  for (const text of [...texts, answers.agent_debug, histories.all, databaseFile, archived]) {
    expect(text).toContain(MEANT);
  }
  // A key was asked for, refused, and told of.
  expect(answers.agent_debug).toContain('Incorrect API key provided: [hidden]');
  expect(histories.all).toContain('Incorrect API key provided: [hidden]');
  expect(answers.agent_debug).toMatch(/refused Bearer/);
});
