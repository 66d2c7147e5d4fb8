/**
 * Requests that make no sense, or nearly do, over all routes and by several people: none is answered with a 5xx, none
 * hangs, and the gateway, a process of its own, holds no more afterwards than before.
 * PERDURE_SEED repeats a round, PERDURE_FUZZ says how many requests (`npm run test:fuzz`: 50,000).
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERROR_CODE_HEADER } from '../../contract/errors.js';
import { SCOPES } from '../../contract/scopes.js';
import { DEFAULT_LIMITS } from '../../gateway/limits/gateway-limits.js';
import { ROUTES } from '../../gateway/routes/table.js';
import type { Route } from '../../gateway/route.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { withRecords } from '../support/records.js';
import { script } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { threadConfig } from '../threads/thread-world.js';
import { fittingBody } from './fitting-bodies.js';
import { LARGE_BODIES } from './large-bodies.js';
import { caller } from './gateway-world.js';
import { dataOf } from './threads/thread-gateway.js';

const REQUESTS = Number(process.env['PERDURE_FUZZ'] ?? 2_000);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const AT_ONCE = 8;
const WARM_UP = 400;
/** Longer than any deadline of the gateway; a stream is left after its first bytes. */
const HANGS_AFTER_MS = 60_000;
/** What lives on has bounds: logs and threads that are kept for the next reader, and whose they are. */
const KEPT_BYTES = 16 * 1024 * 1024;

let world: World;
let gateway: GatewayProcess;
const keys = new Map<string, string>();
/** Of each kind several, since some requests delete what they name. */
const names = new Map<string, string[]>();

const PEOPLE = ['ann', 'ann', 'ada', 'gus', 'operator', 'meter', 'nobody'] as const;

beforeAll(async () => {
  world = await createWorld(threadConfig());
  await withRecords(world.server.dataDir, async ({ keys: made }) => {
    const make = async (user_id: string, org_id: string, role: 'member' | 'admin', more: object = {}) =>
      keys.set(user_id, (await made.create({ org_id, user_id, role, profiles: ['agent_debug'], ...more })).key);
    await make('ann', 'acme', 'member');
    await make('ada', 'acme', 'admin');
    await make('gus', 'globex', 'admin');
    await make('operator', 'acme', 'admin', { scopes: [...SCOPES] });
    await make('meter', 'acme', 'member', { profiles: ['metrics'] });
  });
  gateway = await startGatewayProcess({ server: world.server, keys: true });
  const ann = caller(gateway.url, keys.get('ann'));
  const note = (kind: string, name: unknown) => names.set(kind, [...(names.get(kind) ?? []), String(name)]);
  const waits = [{ tool_calls: [{ tool: 'client.declared.client_look', args: {} }] }, { text: 'Seen.' }];
  const client_tools = [{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }];
  for (let n = 0; n < 5; n++) {
    const ended = await ann.post('/v1/runs', { agent_id: 'test.bare', input: script([{ text: `Done ${n}.` }]) });
    const paused = await ann.post('/v1/runs', { agent_id: 'test.agent', input: script(waits), client_tools });
    for (const run of [ended, paused]) note('run_id', run.body['run_id']);
    note('run', ended.body['run_id']);
    const { thread_id } = dataOf(await ann.post('/v1/ai/threads', fittingBody('startThread')));
    note('thread_id', thread_id);
    note('run_id', `${thread_id}/turn_1`);
    const agent = dataOf<{ agent_id: string; name: string }>(
      await ann.post('/v1/ai/agents', fittingBody('createStoredAgent')),
    );
    note('agent_id', agent.agent_id);
    note('name', agent.name);
  }
  note('message_sequence_num', 1);
  note('artefact', `art_${'0'.repeat(64)}`);
}, 120_000);
afterAll(async () => {
  await gateway.kill();
  await world.end();
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', '..', '%00', "' OR 1=1 --", '\u202e', '\u0000', '🦊'.repeat(50), 'x'.repeat(5_000), '__proto__'),
);
const json: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constant(JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)),
);
/** Names that bodies of the routes have, so that some get past the first check. */
const FIELDS =
  'agent_id input run_id thread_id limits policy metadata client_tools await_id answer results decision digest note reason ' +
  'messages message goals title visibility name request_template variables values tool_results org_id created_by roles ' +
  'tool_state system_prompt analysis_scope client_context on_busy payloads data encoding default __proto__ sentiment';
const field = fc.constantFrom(...FIELDS.split(' '));
const QUERY =
  'profile from cursor limit dialect children stream next_token page_token format follow trailer envelope on_disconnect ' +
  'load_messages queued status text thread_id created_after';

/** `near`: what fits the route, but for some fields that are something else. */
type Sent = { text: string | undefined } | { near: [string, unknown][] } | { large: number };
const body: fc.Arbitrary<Sent> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.array(fc.tuple(field, fc.oneof(json, text)), { maxLength: 3 }).map((near) => ({ near })),
  },
  { weight: 10, arbitrary: json.map((value) => ({ text: JSON.stringify(value) })) },
  {
    weight: 20,
    arbitrary: fc
      .dictionary(field, fc.oneof(json, text), { maxKeys: 6 })
      .map((value) => ({ text: JSON.stringify(value) })),
  },
  {
    weight: 10,
    arbitrary: fc
      .constantFrom(undefined, '{', '{"a":1,"a":2}', '\u0000', 'null', '"x"', '1e999')
      .map((given) => ({ text: given })),
  },
  { weight: 1, arbitrary: fc.nat(LARGE_BODIES.length - 1).map((large) => ({ large })) },
);

interface Attempt {
  route: Route;
  method: string;
  who: (typeof PEOPLE)[number];
  params: string[];
  real: number;
  query: [string, string][];
  headers: [string, string][];
  body: Sent;
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  route: fc.constantFrom(...ROUTES),
  method: fc.constantFrom('', '', '', '', '', '', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
  who: fc.constantFrom(...PEOPLE),
  params: fc.array(text, { minLength: 3, maxLength: 3 }),
  // Which of those that there are; from 15 on none.
  real: fc.nat(19),
  query: fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom(...QUERY.split(' ')), text),
      fc.oneof(text, fc.constantFrom('true', 'cancel', '1')),
    ),
    {
      maxLength: 2,
    },
  ),
  headers: fc.array(
    fc.tuple(
      fc.constantFrom(
        'accept',
        'last-event-id',
        'idempotency-key',
        'range',
        'if-none-match',
        'content-type',
        'x-request-id',
        'x-roboto-org-id',
      ),
      fc.string({ maxLength: 60 }),
    ),
    { maxLength: 2 },
  ),
  body,
});

function textOf({ route, body: sent }: Attempt): string | undefined {
  if ('text' in sent) return sent.text;
  if ('large' in sent) return LARGE_BODIES[sent.large]?.();
  return JSON.stringify({ ...(fittingBody(route.operation) as object | undefined), ...Object.fromEntries(sent.near) });
}

async function sendOnce(each: Attempt): Promise<{ status: number; isBusy: boolean }> {
  const { route, method, who, params, real, query, headers } = each;
  let n = 0;
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const known = names.get(name) ?? [];
    return encodeURIComponent(well(real < 15 ? (known[real % known.length] ?? '') : (params[n++] ?? '')));
  });
  const search = new URLSearchParams(query).toString();
  const verb = method === '' ? route.method : method;
  const takes = verb === 'POST' || verb === 'PUT' || verb === 'PATCH';
  const key = keys.get(who);
  const given = new Headers(key === undefined ? {} : { authorization: `Bearer ${key}` });
  if (takes) given.set('content-type', 'application/json');
  for (const [name, value] of headers) if (/^[\x20-\x7e]*$/.test(value)) given.set(name, value);
  const sent = takes ? textOf(each) : undefined;
  const isCut = (sent?.length ?? 0) > DEFAULT_LIMITS.body_bytes;
  const response = await fetch(`${gateway.url}${path}${search === '' ? '' : `?${search}`}`, {
    method: verb,
    headers: given,
    ...(sent === undefined ? {} : { body: sent }),
    signal: AbortSignal.timeout(HANGS_AFTER_MS),
  }).catch((error: unknown) => {
    // The gateway does not read all of it, and a client that goes on writing may not hear the answer.
    if (isCut && error instanceof TypeError) return new Response(null, { status: 413 });
    throw error;
  });
  await response.body?.cancel();
  // What is behind the gateway had too much to do, which it says: that is this test's own doing.
  const isBusy = response.status === 503 && response.headers.get(ERROR_CODE_HEADER) === 'server_unreachable';
  return { status: response.status, isBusy };
}

async function send(each: Attempt): Promise<number> {
  for (let tries = 1; ; tries++) {
    const { status, isBusy } = await sendOnce(each);
    if (!isBusy || tries === 3) return status;
  }
}

/** Lone surrogates cannot be written in an address. */
function well(value: string): string {
  return value.replaceAll(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '?');
}

it('gets to what is behind the checks of each route', async () => {
  const refused: string[] = [];
  // What deletes comes last.
  for (const route of ROUTES.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))) {
    const plain = { method: '', params: [], query: [], headers: [], body: { near: [] } };
    const status = await send({ ...plain, route, who: 'operator', real: route.deprecated === undefined ? 4 : 3 });
    if ([401, 403, 404, 405].includes(status)) refused.push(`${route.operation}: ${status}`);
  }
  // There is no such artefact.
  expect(refused).toEqual(['readArtefact: 404']);
});

it(
  `answers ${REQUESTS} requests without sense, and has nothing left of them (PERDURE_SEED=${SEED})`,
  { timeout: 3_600_000 },
  async () => {
    process.stderr.write(`fuzz: seed ${SEED}, ${REQUESTS} requests\n`);
    const attempts = fc.sample(attempt, { seed: SEED, numRuns: WARM_UP + REQUESTS });
    const wrong: string[] = [];
    const seen = new Map<string, Set<number>>();
    const sendAll = async (from: number, to: number) => {
      let next = from;
      const lane = async () => {
        for (let n = next++; n < to; n = next++) {
          const each = attempts[n] as Attempt;
          const status = await send(each).catch((error: unknown) => String(error));
          if (typeof status === 'number')
            seen.set(each.route.operation, (seen.get(each.route.operation) ?? new Set()).add(status));
          if (typeof status !== 'number' || status >= 500)
            wrong.push(`${n}: ${status} of ${JSON.stringify({ ...each, route: each.route.operation }).slice(0, 600)}`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
    };
    // What the first ones bring up (connections, compiled code, caches) is no leak; nor is what the large ones do.
    await Promise.all(
      LARGE_BODIES.map((_, large) => send({ ...(attempts[0] as Attempt), body: { large }, method: 'POST' })),
    );
    await sendAll(0, WARM_UP);
    const before = await gateway.heldBytes();
    await sendAll(WARM_UP, attempts.length);
    const held = (await gateway.heldBytes()) - before;
    const statuses = [...new Set([...seen.values()].flatMap((each) => [...each]))].toSorted();
    process.stderr.write(`fuzz: ${statuses.join(', ')}; ${Math.round(held / 1024)} KiB more than before\n`);
    expect(wrong, gateway.lines().join('\n')).toEqual([]);
    expect(statuses).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 413]));
    expect((await caller(gateway.url, keys.get('ann')).get('/v1/agents')).status).toBe(200);
    expect(held).toBeLessThan(KEPT_BYTES);
  },
);
