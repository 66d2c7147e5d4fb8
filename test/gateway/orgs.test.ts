/**
 * Orgs do not see one another, on any route; what members, admins and profiles may do. Routes that name a thread are in
 * threads/visibility.test.ts.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasEnvelope } from '../../gateway/envelope.js';
import { STORED_AGENT_ROUTES } from '../../gateway/routes/agents/table.js';
import { ROUTES } from '../../gateway/routes/table.js';
import { withRecords } from '../support/records.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { Answer, Caller, GatewayWorld, Orgs } from './gateway-world.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let [ann, bob, ada, gus]: Caller[] = [];
/** Of acme, by ann: has ended, with a child; and one that waits for an answer. */
let ended = '';
let waiting = '';

beforeAll(async () => {
  world = await createWorld(treeConfig());
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { limits: { requests_per_second: 1_000, request_burst: 1_000 } });
  [ann, bob, ada, gus] = [orgs.ann, orgs.bob, orgs.ada, orgs.gus].map((key) => gateway.as(key));
  ended = await start([{ tool_calls: [child([{ text: 'below' }])] }, { text: 'above' }]);
  await world.logOf(ended);
  waiting = await start([{ tool_calls: [ask('When?')] }, { text: 'thanks' }]);
  await until(async () => ((await ann!.get(runPath(waiting))).body['awaits'] as unknown[]).length === 1, 'the pause');
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

async function start(turns: Parameters<typeof script>[0], by: Caller = ann!, extra: object = {}): Promise<string> {
  const { status, body, text } = await by.post('/v1/runs', { agent_id: 'test.node', input: script(turns), ...extra });
  expect(status, text).toBe(201);
  return body['run_id'] as string;
}

function code({ status, body }: Answer): [number, string | undefined] {
  return [status, (body['error'] as { code: string } | undefined)?.code];
}

/** A good body for each route that takes one, so that only the owner can be what is wrong. */
const BODIES: Record<string, unknown> = {
  startRun: { agent_id: 'test.node', input: 'x' },
  cancelRun: {},
  answerClarification: { await_id: 'a', answer: 'x' },
  submitToolResults: { results: [{ tool_call_id: 'call_1_1', status: 'declined' }] },
  decideApproval: { await_id: 'a', digest: 'd', decision: 'deny' },
};
/** Routes that name no run, and the test that shows what they do about orgs. */
const WITHOUT_RUN = [
  'startRun', // "sets the owner itself" and "run ids of another org" below
  'listThreadSummaries', // threads/listing.test.ts
  'listRuns', // "lists only runs of the org" below
  'startThread', // threads/visibility.test.ts
  'listThreads', // threads/listing.test.ts
  'searchThreads', // threads/listing.test.ts
  'listThreadModelProfiles', // the same for all
  ...STORED_AGENT_ROUTES.map(({ operation }) => operation), // agents/visibility.test.ts
  'listAgents', // the same for all
  'listModelProfiles', // the same for all
  'health',
  'ready',
  'metrics', // for operators; no org in any series
  'decodePayloads', // for operators, as who reads Temporal itself: codec.test.ts
  'encodePayloads',
  'openFile', // its address is signed for one org: file-links.test.ts
  'openapi',
];

describe('another org', () => {
  it('is thought of in every route of the table', () => {
    const named = ROUTES.filter(({ path }) => path.includes('{run_id}'));
    const others = ROUTES.filter(
      (route) => !named.includes(route) && route.deprecated === undefined && !route.path.includes('{thread_id}'),
    ).map(({ operation }) => operation);
    expect(others.toSorted()).toEqual(WITHOUT_RUN.toSorted());
    expect(named.filter(({ body, operation }) => body !== undefined && !(operation in BODIES))).toEqual([]);
  });

  const probes = ROUTES.filter(({ path }) => path.includes('{run_id}')).map(
    (route) => [route.operation, route] as const,
  );
  it.each(probes)('gets from %s for a run that exists what it gets for one that does not', async (_name, route) => {
    const probe = async (runId: string) => {
      const path = route.path.replace('{run_id}', encodeURIComponent(runId));
      const id = { 'x-request-id': 'same' };
      const { status, headers, text } = await (route.method === 'GET'
        ? gus!.get(path, id)
        : gus!.post(path, BODIES[route.operation], id));
      return { status, headers: [...headers].filter(([name]) => name !== 'date'), text: text.replaceAll(runId, 'RUN') };
    };
    const twin = (runId: string) => runId.replace(/-[0-9a-f]{8}-/, '-00000000-');
    for (const runId of [ended, waiting, `${ended}/call_1_1`, `${ended}/call_9_9`]) {
      const foreign = await probe(runId);
      expect(foreign.status).toBe(404);
      expect(foreign).toEqual(await probe(twin(runId)));
    }
  });

  it('has changed nothing by trying', async () => {
    expect((await ann!.get(runPath(waiting))).body).toMatchObject({
      status: 'running',
      awaits: [{ question: 'When?' }],
    });
    expect((await world.client.runs.get(waiting)).status).toBe('running');
  });

  it('lists only its own runs, whatever it asks for', async () => {
    const own = await start([{ text: 'of gus' }], gus);
    const ids = async (by: Caller, search = '') =>
      ((await by.get(`/v1/runs${search}`)).body['runs'] as { run_id: string }[]).map(({ run_id }) => run_id);
    await until(async () => (await ids(gus!)).length === 1 && (await ids(ann!)).length === 2, 'all to be listed');
    expect(await ids(gus!)).toEqual([own]);
    expect((await ids(bob!)).toSorted()).toEqual([ended, waiting].toSorted());
    expect(code(await gus!.get(`/v1/runs?org_id=${orgs.acme}`))).toEqual([400, 'invalid_request']);
    const page = await ann!.get('/v1/runs?limit=1');
    const cursor = String(page.body['next_cursor']);
    expect(code(await gus!.get(`/v1/runs?limit=1&cursor=${cursor}`))).toEqual([400, 'invalid_request']);
  });

  it('cannot read a run that belongs to no org', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input: script([{ text: 'x' }]) });
    expect(code(await ann!.get(runPath(run_id)))).toEqual([404, 'unknown_run']);
  });
});

describe('starting', () => {
  it('sets the owner itself, and refuses a body that names another', async () => {
    expect(await world.client.runs.describe(ended)).toMatchObject({ org_id: orgs.acme, created_by: 'ann' });
    const body = { agent_id: 'test.node', input: 'x' };
    expect(code(await gus!.post('/v1/runs', { ...body, org_id: orgs.acme }))).toEqual([403, 'forbidden']);
    expect(code(await ann!.post('/v1/runs', { ...body, created_by: 'bob' }))).toEqual([403, 'forbidden']);
    await start([{ text: 'x' }], ann, { org_id: orgs.acme, created_by: 'ann' });
  });

  it('takes run ids under the name of one’s own org, and refuses all others without a look', async () => {
    const own = `${orgs.acme}:${randomUUID()}`;
    const input = script([{ text: 'x' }]);
    const post = (by: Caller, run_id: string) => by.post('/v1/runs', { agent_id: 'test.node', input, run_id });
    expect((await post(ann!, own)).status).toBe(201);
    expect((await post(ann!, own)).status).toBe(200);
    expect(code(await post(bob!, own))).toEqual([409, 'idempotency_conflict']);
    const foreign = await post(gus!, own);
    const missing = await post(gus!, `${orgs.acme}:${randomUUID()}`);
    const plain = await post(gus!, ended);
    for (const answer of [foreign, missing, plain]) {
      expect(code(answer)).toEqual([400, 'invalid_request']);
      expect(answer.text.replace(/"request_id":"[^"]*"/, '')).toBe(missing.text.replace(/"request_id":"[^"]*"/, ''));
    }
  });

  it('keeps the idempotency keys of users and orgs apart', async () => {
    const headers = { 'idempotency-key': 'the same for all' };
    const body = { agent_id: 'test.node', input: script([{ text: 'x' }]) };
    const answers = await Promise.all([ann!, bob!, gus!].map((by) => by.post('/v1/runs', body, headers)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.body['run_id'])).size).toBe(3);
  });
});

describe('within an org', () => {
  it('members read one another’s runs; creators and admins answer them, in their own name', async () => {
    const runId = await start([{ tool_calls: [ask('Who?')] }, { text: 'thanks' }]);
    await until(async () => ((await bob!.get(runPath(runId))).body['awaits'] as unknown[]).length === 1, 'the pause');
    const { awaits } = (await bob!.get(runPath(runId))).body as { awaits: [{ await_id: string }] };
    const answer = { await_id: awaits[0].await_id, answer: 'me', answered_by: 'ann' };
    const refused = await bob!.post(runPath(runId, '/clarifications'), answer);
    expect(code(refused)).toEqual([403, 'forbidden']);
    expect(refused.text).toContain('take one of: creator, role:admin; \\"bob\\" is none of them');
    expect((await ada!.post(runPath(runId, '/clarifications'), answer)).status).toBe(200);
    expect(ofType(await world.logOf(runId), 'await_resolved')).toMatchObject([{ answered_by: 'ada' }]);
  });

  it('a run is canceled by its creator or an admin', async () => {
    for (const by of [ann!, ada!]) {
      const runId = await start([{ text: 'x', hang: true }]);
      expect(code(await bob!.post(runPath(runId, '/cancel')))).toEqual([403, 'forbidden']);
      expect((await by.post(runPath(runId, '/cancel'))).status).toBe(202);
      expect((await world.logOf(runId)).at(-1)).toMatchObject({ status: 'canceled' });
    }
  });

  it('who may not cancel a run cannot have it canceled by leaving it', async () => {
    const runId = await start([{ text: 'and so on', hang: true }]);
    expect(code(await bob!.get(runPath(runId, '/events?on_disconnect=cancel')))).toEqual([403, 'forbidden']);
    expect((await ann!.get(runPath(runId))).body).toMatchObject({ status: 'running' });
    const leaving = new AbortController();
    await fetch(`${gateway.url}${runPath(runId, '/events?on_disconnect=cancel')}`, {
      headers: { authorization: `Bearer ${orgs.ann}` },
      signal: leaving.signal,
    });
    leaving.abort();
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ status: 'canceled' });
  });

  it('metrics are for operators: not for an org’s admin', async () => {
    for (const by of [ann!, ada!]) expect(code(await by.get('/metrics'))).toEqual([403, 'forbidden']);
    const owner = { org_id: orgs.acme, user_id: 'prometheus', role: 'member', profiles: ['metrics'] } as const;
    const { key } = await orgs.keys.create({ ...owner, profiles: ['metrics'], scopes: ['metrics'] });
    const { status, text } = await gateway.as(key).get('/metrics');
    expect(status).toBe(200);
    expect(text).not.toContain(orgs.acme);
    expect(code(await gateway.as(key).get('/v1/runs'))).toEqual([403, 'forbidden']);
  });

  it('a run is started in no thread of another org, nor in a colleague’s', async () => {
    const thread_id = `t-${randomUUID()}`;
    const owner = { org_id: orgs.acme, created_by: 'ann', visibility: 'org' } as const;
    await world.client.threads.start({
      agent_id: 'test.node',
      thread_id,
      messages: [script([{ text: 'Hello.' }])],
      ...owner,
    });
    const body = { agent_id: 'test.node', input: script([{ text: 'x' }]), thread_id };
    expect(code(await gus!.post('/v1/runs', body))).toEqual([404, 'unknown_thread']);
    expect(code(await bob!.post('/v1/runs', body))).toEqual([403, 'thread_read_only']);
    expect((await ann!.post('/v1/runs', body)).status).toBe(201);
    expect((await gus!.post('/v1/runs', { ...body, thread_id: `no-thread-${randomUUID()}` })).status).toBe(201);
  });

  it('a run is told for whom it works by the credential, and by nothing else', async () => {
    const body = { agent_id: 'test.node', input: script([{ text: 'x' }]) };
    expect(code(await ann!.post('/v1/runs', { ...body, roles: ['admin'] }))).toEqual([403, 'forbidden']);
    const owner = { org_id: orgs.acme, user_id: 'sue', role: 'member', profiles: ['user_chat'] } as const;
    const { key } = await orgs.keys.create({ ...owner, profiles: ['user_chat'], roles: ['support', 'admin'] });
    const answer = await gateway.as(key).post('/v1/runs', body);
    const handle = world.temporal.workflow.getHandle(String(answer.body['run_id']));
    const [first] = (await handle.fetchHistory()).events ?? [];
    const payload = first?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
    // That she is called an admin among her further roles makes her none.
    expect(JSON.parse(Buffer.from(payload ?? []).toString())).toMatchObject({
      org_id: orgs.acme,
      created_by: 'sue',
      roles: ['member', 'support'],
    });
  });

  it('a profile that a credential may not use is refused, with those that it may', async () => {
    for (const path of ['', '/tree', '/transcript', '/steps', '/events']) {
      const answer = await ann!.get(runPath(ended, `${path}?profile=metrics`));
      expect(code(answer)).toEqual([403, 'forbidden']);
      expect(answer.text).toContain('agent_debug, user_chat');
    }
  });

  it('a credential reads by its first profile where it asks for none', async () => {
    const owner = { org_id: orgs.acme, user_id: 'una', role: 'member' } as const;
    const { key } = await orgs.keys.create({ ...owner, profiles: ['user_chat'] });
    const plain = await gateway.as(key).get(runPath(ended, '/transcript'));
    expect(plain.status).toBe(200);
    expect(plain.text).not.toContain('below');
    expect((await ann!.get(runPath(ended, '/transcript'))).text).toContain('below');
  });
});

describe('keys', () => {
  it('a key that is revoked, by another process or not, is refused from the next request on', async () => {
    const owner = { org_id: orgs.acme, user_id: 'eva', role: 'member', profiles: ['user_chat'] } as const;
    const { key, id } = await orgs.keys.create({ ...owner, profiles: ['user_chat'] });
    expect((await gateway.as(key).get('/v1/agents')).status).toBe(200);
    expect(await withRecords(orgs.folder, (other) => other.keys.revoke(id))).toBe(true);
    expect(code(await gateway.as(key).get('/v1/agents'))).toEqual([401, 'unauthenticated']);
  });

  it.each([
    ['nothing', () => undefined],
    ['a key that never was', () => `perdure_${'0'.repeat(12)}_${'A'.repeat(43)}`],
    ['the id of a key with another secret', () => `${orgs.ann.slice(0, 21)}${'A'.repeat(43)}`],
    ['half a key', () => orgs.ann.slice(0, 30)],
    ['something else', () => 'hello'],
  ])('%s opens no route but the open ones', async (_what, token) => {
    for (const route of ROUTES) {
      const path = route.path.replace(/\{\w+\}/g, encodeURIComponent(ended));
      const answer = await gateway.as(token()).call(route.method, path, BODIES[route.operation]);
      if (route.access === 'open') expect(answer.status).not.toBe(401);
      else {
        expect(answer.status).toBe(401);
        expect(answer.body['error']).toMatchObject(
          hasEnvelope(path) ? { error_code: 'RobotoUnauthorizedException' } : { code: 'unauthenticated' },
        );
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
    }
  });

  it('never turn up in the log, wherever they are sent', async () => {
    const secret = orgs.ann.slice(21);
    const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl';
    await ann!.get(`/v1/runs?api_key=${orgs.ann}`);
    await ann!.get(`/v1/runs?cursor=${orgs.ann}`);
    await ann!.get(runPath(orgs.ann));
    await ann!.get('/healthz', { 'x-request-id': orgs.ann.slice(0, 60) });
    await ann!.post('/v1/runs', { agent_id: orgs.ann, input: orgs.ann }, { cookie: `k=${orgs.ann}` });
    await gateway.as(token).get('/v1/runs');
    await gateway.as(`${orgs.ann}x`).get('/v1/runs');
    expect(gateway.log()).toContain('"route":"/v1/runs"');
    expect(gateway.log()).not.toContain(secret);
    expect(gateway.log()).not.toContain(secret.slice(0, 20));
    expect(gateway.log()).not.toContain('c2lnbmF0dXJl');
  });
});
