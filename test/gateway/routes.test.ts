/** Every route over a real socket, with good and bad input. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../gateway/route.js';
import { ROUTES } from '../../gateway/routes/table.js';
import { ErrorBody } from '../../gateway/shapes/error-body.js';
import { call, script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { runPath, serveFor } from './gateway-world.js';
import type { Answer, Caller, GatewayWorld } from './gateway-world.js';

let world: World;
let gateway: GatewayWorld;
let me: Caller;

beforeAll(async () => {
  world = await createWorld(treeConfig());
  gateway = await serveFor(world, { kind: 'off' }, { limits: { requests_per_second: 1_000, request_burst: 1_000 } });
  me = gateway.as();
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
});

const hello = { agent_id: 'test.node', input: script([{ text: 'hello' }]) };

async function start(turns: Parameters<typeof script>[0], extra: object = {}): Promise<string> {
  const { status, body } = await me.post('/v1/runs', { agent_id: 'test.node', input: script(turns), ...extra });
  expect(status).toBe(201);
  return body['run_id'] as string;
}

/** What the table promises of a route is what it gives. */
function isDescribed(operation: string, answer: Answer): void {
  const route = ROUTES.find((each) => each.operation === operation) as Route;
  const reply = route.replies[answer.status];
  expect(reply, `${operation} answered ${answer.status}: ${answer.text}`).toBeDefined();
  if (reply?.schema !== undefined) expect(reply.schema.safeParse(answer.body).error?.issues ?? []).toEqual([]);
}

function isError(answer: Answer, status: number, code: string): { message: string; issues: { path: string }[] } {
  expect(answer.body, answer.text).toMatchObject({ error: { code } });
  expect(answer.status).toBe(status);
  const { error } = ErrorBody.parse(answer.body);
  expect(error.request_id).toBe(answer.headers.get('x-request-id'));
  return { message: error.message, issues: error.issues ?? [] };
}

describe('POST /v1/runs', () => {
  it('starts a run, says where it is, and the run goes to its end', async () => {
    const answer = await me.post('/v1/runs', { ...hello, limits: { run: { time_budget: '5m' } } });
    isDescribed('startRun', answer);
    expect(answer.status).toBe(201);
    const runId = answer.body['run_id'] as string;
    expect(answer.headers.get('location')).toBe(runPath(runId));
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ type: 'run_completed', answer: 'hello' });
  });

  it.each([
    ['an agent that is missing', { input: 'x' }, 'agent_id'],
    ['an input of the wrong type', { ...hello, input: 7 }, 'input'],
    ['a field that is not known', { ...hello, inptu: 'x' }, 'inptu'],
    ['a limit that is no number', { ...hello, limits: { run: { max_steps: 'many' } } }, 'limits.run.max_steps'],
    ['a limit that is not known', { ...hello, limits: { run: { max_stpes: 1 } } }, 'limits.run.max_stpes'],
    ['a duration that is none', { ...hello, limits: { run: { time_budget: 'soon' } } }, 'limits.run.time_budget'],
    ['a parent, which only the runtime has', { ...hello, parent: { run_id: 'x' } }, 'parent'],
    ['a run id with a slash', { ...hello, run_id: 'a/b' }, 'run_id'],
    [
      'a client tool without a name',
      { ...hello, client_tools: [{ description: 'd', input_schema: {} }] },
      'client_tools.0.name',
    ],
    ['no object', ['x'], 'body'],
    ['nothing', undefined, 'body'],
  ])('names the field of %s', async (_what, body, path) => {
    const { issues } = isError(await me.post('/v1/runs', body), 400, 'invalid_request');
    expect(issues.map((issue) => issue.path)).toContain(path);
  });

  it('names the agents and model profiles there are', async () => {
    const agent = isError(await me.post('/v1/runs', { ...hello, agent_id: 'test.nobody' }), 404, 'unknown_agent');
    expect(agent.message).toContain('only test.node');
    const asked = { ...hello, model_profile: 'large' };
    expect(isError(await me.post('/v1/runs', asked), 404, 'unknown_profile').message).toContain('only script');
  });

  it('refuses broken JSON, text that is no UTF-8, and another content type', async () => {
    const post = async (body: string | Uint8Array, type?: string) => {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const response = await fetch(`${gateway.url}/v1/runs`, { method: 'POST', body, headers });
      return { status: response.status, ...((await response.json()) as { error: { code: string } }).error };
    };
    const json = 'application/json; charset=utf-8';
    expect(await post('{"agent_id":', json)).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await post(new Uint8Array([0x22, 0xff, 0x22]), json)).toMatchObject({
      status: 400,
      code: 'invalid_request',
    });
    expect(await post(JSON.stringify(hello), 'text/plain')).toMatchObject({ status: 415 });
    expect(await post(new TextEncoder().encode('{}'))).toMatchObject({ status: 415, code: 'unsupported_media_type' });
  });

  it.each([
    ['?stream=true', {}],
    ['', { accept: 'application/x-ndjson' }],
  ])('streams the run as the answer (%s %j)', async (search, headers) => {
    const answer = await me.post(`/v1/runs${search}`, hello, headers);
    expect(answer.status).toBe(200);
    const types = answer.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types[0]).toBe('run_started');
    expect(types).toContain('run_completed');
    expect(answer.headers.get('location')).toMatch(/^\/v1\/runs\/test\.node-/);
  });

  it('starts no run where the stream is refused', async () => {
    const before = await world.client.runs.list({ thread_id: 'refused' });
    isError(await me.post('/v1/runs?stream=true&profile=nobody', { ...hello, thread_id: 'refused' }), 403, 'forbidden');
    for (const [search, own, headers] of [
      ['&from=5', {}, {}],
      ['&from=3.0', {}, {}],
      ['&from=garbage', { run_id: `own-${randomUUID()}` }, {}],
      ['', {}, { 'last-event-id': '3.0' }],
    ] as const) {
      const body = { ...hello, ...own, thread_id: 'refused' };
      isError(await me.post(`/v1/runs?stream=true${search}`, body, headers), 400, 'invalid_request');
    }
    expect(before.runs).toEqual([]);
    await start([{ text: 'a later one' }], { thread_id: 'marker' });
    await until(async () => (await world.client.runs.list({ thread_id: 'marker' })).runs.length === 1, 'the marker');
    expect((await world.client.runs.list({ thread_id: 'refused' })).runs).toEqual([]);
  });
});

describe('a body', () => {
  it('that is nested without end, or a thread id that no index takes, is the caller’s mistake', async () => {
    const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
    const nested = await me.post('/v1/runs', { ...hello, metadata: { deep: deep(2_000) } });
    expect(isError(nested, 400, 'invalid_request').message).toContain('nested');
    expect((await me.post('/v1/runs', { ...hello, metadata: { deep: deep(100) } })).status).toBe(201);
    const long = await me.post('/v1/runs', { ...hello, thread_id: 'ü'.repeat(1_025) });
    expect(isError(long, 400, 'invalid_request').message).toContain('thread_id');
    expect((await me.post('/v1/runs', { ...hello, thread_id: 'ü'.repeat(500) })).status).toBe(201);
  });

  it('names no conversation by what a terminal or a page would obey, and gives no tool a state', async () => {
    for (const thread_id of ['\u001b]52;c;aGk=\u0007', 'a\nb', '[x](https://evil.example)', '\u202egnp', ' ', '']) {
      const refused = isError(await me.post('/v1/runs', { ...hello, thread_id }), 400, 'invalid_request');
      expect(refused.issues).toEqual([{ path: 'thread_id', message: expect.stringContaining('may hold letters') }]);
    }
    const forged = await me.post('/v1/runs', { ...hello, tool_state: { 'test.notes': [] } });
    expect(isError(forged, 400, 'invalid_request').issues).toEqual([{ path: 'tool_state', message: 'is not known' }]);
  });

  it('of a hundred thousand values and more is refused before they are checked one by one', async () => {
    const input = Array.from({ length: 1_000_000 }, () => 1);
    const many = isError(await me.post('/v1/runs', { agent_id: 'test.node', input }), 413, 'input_too_large');
    expect(many.message).toContain('holds more than 100000 values');
    const { message, issues } = isError(
      await me.post('/v1/runs', { ...hello, goals: input.slice(0, 90_000) }),
      400,
      'invalid_request',
    );
    expect(message.length).toBeLessThan(10_000);
    expect(issues.length).toBeLessThanOrEqual(50);
  });
});

describe('idempotency', () => {
  it.each([
    ['an Idempotency-Key', () => ({}), () => ({ 'idempotency-key': `key ${randomUUID()}` })],
    ['a run_id of one’s own', () => ({ run_id: `own-${randomUUID()}` }), () => ({})],
  ])('gives the same run for %s, however often and however many at once', async (_what, body, headers) => {
    const [own, key] = [body(), headers()];
    const send = () => me.post('/v1/runs', { ...hello, ...own, metadata: { a: 1, b: 2 } }, key);
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 201]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const again = await me.post('/v1/runs', { metadata: { b: 2, a: 1 }, ...own, ...hello }, key);
    isDescribed('startRun', again);
    expect([again.status, again.text]).toEqual([200, answers[0]?.text]);
    const other = await me.post('/v1/runs', { ...hello, ...own, metadata: { a: 1, b: 3 } }, key);
    expect(isError(other, 409, 'idempotency_conflict').message).toContain('another request');
  });

  it('refuses both at once, and a key that no header should carry', async () => {
    const both = await me.post('/v1/runs', { ...hello, run_id: 'x' }, { 'idempotency-key': 'k' });
    expect(isError(both, 400, 'invalid_request').issues).toMatchObject([{ path: 'run_id' }]);
    const long = await me.post('/v1/runs', hello, { 'idempotency-key': 'k'.repeat(256) });
    expect(isError(long, 400, 'invalid_request').issues).toMatchObject([{ path: 'Idempotency-Key' }]);
  });

  it('does not take a run that was started in another way for its own', async () => {
    const run_id = `elsewhere-${randomUUID()}`;
    await world.run('test.node', hello.input, { run_id });
    isError(await me.post('/v1/runs', { ...hello, run_id }), 409, 'run_exists');
  });

  it('streams the run of a repeated request too', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const first = await me.post('/v1/runs?stream=true', hello, headers);
    const second = await me.post('/v1/runs?stream=true', hello, headers);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(second.text).toContain('"run_completed"');
  });
});

describe('reading', () => {
  let root = '';
  const turns = [
    { thinking: 'hm', tool_calls: [call('tools.echo', { text: 'one' }), child([{ text: 'below' }])] },
    { text: 'above' },
  ];

  beforeAll(async () => {
    root = await start(turns, { thread_id: 'reading' });
    await world.logOf(root);
  });

  it('GET /v1/runs/{id} says where it stands', async () => {
    const answer = await me.get(runPath(root));
    isDescribed('readRun', answer);
    expect(answer.body).toMatchObject({ phase: 'completed', status: 'success', answer: 'above' });
    const steps = answer.body['steps'] as { tools: { arguments: string }[] }[];
    expect(steps[0]?.tools[0]?.arguments).toContain('one');
  });

  it('takes the id of a child, percent-encoded', async () => {
    const answer = await me.get(runPath(`${root}/call_1_2`));
    isDescribed('readRun', answer);
    expect(answer.body).toMatchObject({ run: { run_id: `${root}/call_1_2`, parent_run_id: root }, answer: 'below' });
    isError(await me.get(`/v1/runs/${root}/call_1_2`), 404, 'unknown_route');
    isError(await me.get(runPath(`${root}/call_9_9`)), 404, 'unknown_run');
    for (const odd of ['100%2F', '/abc', 'nul\0', 'x'.repeat(2_000), `${root}/`, `${root}/../${root}`, '💥']) {
      isError(await me.get(runPath(odd)), 404, 'unknown_run');
    }
    isError(await me.get('/v1/runs/%E0%A4%A'), 404, 'unknown_run');
  });

  it('GET /tree shows every run of it', async () => {
    const answer = await me.get(runPath(root, '/tree'));
    isDescribed('readTree', answer);
    expect(answer.body).toMatchObject({
      run_id: root,
      standing: { phase: 'completed', usage: { model_calls: 2 }, awaits: [] },
      children: [{ run_id: `${root}/call_1_2`, tool_call_id: 'call_1_2', standing: { answer: 'below' }, children: [] }],
    });
  });

  it('GET /steps gives the steps of the run, and of the tree where the profile shows it', async () => {
    const answer = await me.get(runPath(root, '/steps'));
    isDescribed('readSteps', answer);
    const { steps } = answer.body as { steps: { id: string; parent_id?: string; parts: { type: string }[] }[] };
    expect(steps.map(({ id }) => id)).toEqual(expect.arrayContaining([`${root}:step_1`]));
    expect(steps.every(({ id, parent_id }) => id.startsWith(`${root}:`) && parent_id === undefined)).toBe(true);
    const whole = await me.get(runPath(root, '/steps?profile=agent_debug'));
    isDescribed('readSteps', whole);
    const all = (whole.body as { steps: { id: string; parent_id?: string }[] }).steps;
    const below = all.filter(({ id }) => !id.startsWith(`${root}:`));
    expect(below.length).toBeGreaterThan(0);
    for (const { parent_id } of below) expect(all.map(({ id }) => id)).toContain(parent_id);
  });

  it('GET /transcript gives the conversation', async () => {
    const answer = await me.get(runPath(root, '/transcript'));
    isDescribed('readTranscript', answer);
    const { messages } = answer.body as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual(['user', 'reasoning', 'assistant', 'tool', 'tool', 'assistant']);
  });

  it('shows no more than the profile does, in all of them', async () => {
    const search = '?profile=user_chat';
    const snapshot = await me.get(runPath(root, search));
    isDescribed('readRun', snapshot);
    expect(snapshot.body).toMatchObject({ answer: 'above', tail: (await world.logOf(root)).length });
    const transcript = await me.get(runPath(root, `/transcript${search}`));
    isDescribed('readTranscript', transcript);
    const tree = await me.get(runPath(root, `/tree${search}`));
    isDescribed('readTree', tree);
    for (const { text } of [snapshot, transcript, tree]) {
      expect(text).not.toContain('one');
      expect(text).not.toContain('"hm"');
    }
    expect((await me.get(runPath(root))).text).toContain('one');
    isError(await me.get(runPath(root, '?profile=everything')), 403, 'forbidden');
  });

  it('GET /events streams it', async () => {
    const answer = await me.get(runPath(root, '/events?trailer=false&commit=true'));
    isDescribed('streamEvents', answer);
    expect(answer.text.trim().split('\n')).toHaveLength((await world.logOf(root)).length);
    const flat = await me.get(runPath(root, '/events?profile=agent_debug&follow=false'));
    expect(flat.text).toContain('"below"');
  });

  it('says that a run is not there, on every route that names one', async () => {
    for (const route of ROUTES.filter(({ path }) => path.includes('{run_id}'))) {
      const path = route.path.replace('{run_id}', 'not-there');
      isError(await (route.method === 'GET' ? me.get(path) : me.post(path, {})), 404, 'unknown_run');
    }
  });

  it('names a query parameter that is not known or given twice', async () => {
    expect(isError(await me.get(runPath(root, '?porfile=x')), 400, 'invalid_request').issues).toMatchObject([
      { path: 'porfile' },
    ]);
    const twice = await me.get(runPath(root, '?profile=user_chat&profile=agent_debug'));
    expect(isError(twice, 400, 'invalid_request').issues).toMatchObject([{ path: 'profile' }]);
  });
});

describe('GET /v1/runs', () => {
  it('lists, filters and pages', async () => {
    const thread_id = `list-${randomUUID()}`;
    const ids = [await start([{ text: 'a' }], { thread_id }), await start([{ text: 'b' }], { thread_id })];
    const search = `/v1/runs?thread_id=${thread_id}&phase=completed&agent_id=test.node&created_after=2020-01-01T00:00:00%2B01:00`;
    await until(async () => ((await me.get(search)).body['runs'] as unknown[]).length === 2, 'both to be listed');
    const first = await me.get(`${search}&limit=1`);
    isDescribed('listRuns', first);
    const second = await me.get(`${search}&limit=1&cursor=${String(first.body['next_cursor'])}`);
    isDescribed('listRuns', second);
    const listed = [first, second].flatMap(({ body }) => (body['runs'] as { run_id: string }[]).map((r) => r.run_id));
    expect(listed.toSorted()).toEqual(ids.toSorted());
    const past = await me.get(`/v1/runs?thread_id=${thread_id}&created_before=2020-01-01T00:00:00Z`);
    expect(past.body['runs']).toEqual([]);
  });

  it.each([
    ['phase=over', 'phase'],
    ['created_after=yesterday', 'created_after'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['cursor=nonsense', 'cursor'],
    [`thread_id=${encodeURIComponent("' OR 1=1")}`, 'thread_id'],
    ['org_id=acme', 'org_id'],
  ])('refuses %s', async (search, path) => {
    expect(isError(await me.get(`/v1/runs?${search}`), 400, 'invalid_request').issues).toMatchObject([{ path }]);
  });
});

describe('commands', () => {
  it('answers a question, once', async () => {
    const runId = await start([{ tool_calls: [ask('When?')] }, { text: 'thanks' }]);
    await until(async () => ((await me.get(runPath(runId))).body['awaits'] as unknown[]).length === 1, 'the question');
    const snapshot = (await me.get(runPath(runId))).body;
    const [{ await_id }] = snapshot['awaits'] as [{ await_id: string }];
    const path = runPath(runId, '/clarifications');
    expect(isError(await me.post(path, { await_id }), 400, 'invalid_request').issues).toMatchObject([
      { path: 'answer' },
    ]);
    isError(await me.post(path, { await_id: 'another', answer: 'now' }), 400, 'invalid_request');
    const answer = await me.post(path, { await_id, answer: 'now', answered_by: 'me' });
    isDescribed('answerClarification', answer);
    const log = await world.logOf(runId);
    expect(ofType(log, 'await_resolved')).toMatchObject([{ answered_by: 'me' }]);
    isError(await me.post(path, { await_id, answer: 'again' }), 409, 'run_ended');
  });

  it('takes the results of client tools', async () => {
    const client_tools = [{ name: 'client_pick', description: 'Picks.', input_schema: { type: 'object' } }];
    const runId = await start([{ tool_calls: [{ tool: 'client.declared.client_pick', args: {} }] }, { text: 'ok' }], {
      client_tools,
    });
    await until(async () => ((await me.get(runPath(runId))).body['awaits'] as unknown[]).length === 1, 'the call');
    const path = runPath(runId, '/tool-results');
    const bad = await me.post(path, { results: [{ tool_call_id: 'call_1_1', status: 'fine' }] });
    expect(isError(bad, 400, 'invalid_request').issues).toMatchObject([{ path: 'results.0.status' }]);
    isError(await me.post(path, { results: [] }), 400, 'invalid_request');
    const results = [{ tool_call_id: 'call_1_1', status: 'success', output: { seat: '14A' } }];
    isDescribed('submitToolResults', await me.post(path, { results }));
    expect(ofType(await world.logOf(runId), 'tool_result')).toMatchObject([{ status: 'success' }]);
  });

  it('takes an approval of the call that was read, and of no other', async () => {
    const runId = await start([{ tool_calls: [call('guarded.always', { text: 'x' })] }, { text: 'ok' }]);
    await until(async () => ((await me.get(runPath(runId))).body['awaits'] as unknown[]).length === 1, 'the approval');
    const snapshot = (await me.get(runPath(runId))).body;
    const [{ await_id, digest, rendering }] = snapshot['awaits'] as [
      Record<'await_id' | 'digest' | 'rendering', string>,
    ];
    expect(rendering).toBe('{"text":"x"}\ntest.guarded.always');
    const path = runPath(runId, '/approvals');
    const maybe = await me.post(path, { await_id, digest, decision: 'maybe' });
    expect(isError(maybe, 400, 'invalid_request').issues).toMatchObject([{ path: 'decision' }]);
    isError(await me.post(path, { await_id, digest: 'another', decision: 'approve' }), 400, 'invalid_request');
    isDescribed('decideApproval', await me.post(path, { await_id, digest, decision: 'approve', note: 'fine' }));
    expect(ofType(await world.logOf(runId), 'tool_result')).toMatchObject([{ status: 'success', content: 'done: x' }]);
  });

  it('cancels, with and without a body', async () => {
    for (const body of [undefined, { reason: 'deadline', note: 'too late' }]) {
      const runId = await start([{ text: 'never', hang: true }]);
      expect(
        isError(await me.post(runPath(runId, '/cancel'), { reason: 'engine' }), 400, 'invalid_request').issues,
      ).toMatchObject([{ path: 'reason' }]);
      isDescribed('cancelRun', await me.post(runPath(runId, '/cancel'), body));
      const cancellation = body ?? { reason: 'user_requested' };
      expect((await world.logOf(runId)).at(-1)).toMatchObject({ type: 'run_completed', cancellation });
      await expect(world.temporal.workflow.getHandle(runId).result()).rejects.toThrow();
      isError(await me.post(runPath(runId, '/cancel')), 409, 'run_ended');
    }
  });
});

describe('the rest', () => {
  it.each([
    ['listAgents', '/v1/agents'],
    ['listModelProfiles', '/v1/model-profiles'],
    ['health', '/healthz'],
    ['openapi', '/openapi.json'],
  ])('%s answers as described', async (operation, path) => {
    isDescribed(operation, await me.get(path));
  });

  it('readyz is ok while a worker polls', async () => {
    await until(async () => (await me.get('/readyz')).status === 200, 'the worker to poll');
    isDescribed('ready', await me.get('/readyz'));
  });

  it('metrics count by the pattern of the route', async () => {
    await me.get(runPath('not-there'));
    const { text, headers } = await me.get('/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    expect(text).toMatch(/perdure_http_requests_total\{method="GET",route="\/v1\/runs\/\{run_id\}",status="404"\} \d+/);
    expect(text).toMatch(/perdure_open_streams 0\n/);
    expect(text).toContain('perdure_http_request_duration_seconds_bucket');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).not.toContain('not-there');
  });

  it('an unknown path, a wrong method and HEAD are told apart', async () => {
    isError(await me.get('/v2/runs'), 404, 'unknown_route');
    const put = await fetch(`${gateway.url}/v1/runs`, { method: 'PUT' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD']);
    expect(((await put.json()) as { error: { code: string } }).error.code).toBe('method_not_allowed');
    const head = await fetch(`${gateway.url}/healthz`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const stream = await fetch(`${gateway.url}${runPath('x', '/events')}`, { method: 'HEAD' });
    expect([stream.status, stream.headers.get('allow')]).toEqual([405, 'GET']);
  });

  it('takes a sane request id, makes one otherwise, and sets the security headers', async () => {
    const given = await me.get('/healthz', { 'x-request-id': 'my-id.7' });
    expect(given.headers.get('x-request-id')).toBe('my-id.7');
    const made = await me.get('/healthz', { 'x-request-id': 'no spaces' });
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(Object.fromEntries(made.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });
});
