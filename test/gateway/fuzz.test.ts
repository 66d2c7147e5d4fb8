/**
 * Requests that make no sense, over all routes: none is answered with a 5xx, none hangs, and memory comes back.
 * PERDURE_SEED repeats a round, PERDURE_FUZZ says how many requests (`npm run test:fuzz`: 50,000).
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROUTES } from '../../gateway/routes/table.js';
import type { Route } from '../../gateway/route.js';
import { script } from '../support/test-agents.js';
import { createThreadGateway, dataOf, startBody } from './threads/thread-gateway.js';
import type { ThreadGateway } from './threads/thread-gateway.js';

const REQUESTS = Number(process.env['PERDURE_FUZZ'] ?? 2_000);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const AT_ONCE = 8;
/** Longer than any deadline of the gateway; a stream is left after its first bytes. */
const HANGS_AFTER_MS = 60_000;
/** Of what lives on: logs that are kept for the next reader, owners of threads. All of them have bounds. */
const KEPT_BYTES = 150 * 1024 * 1024;

let threads: ThreadGateway;
let names: Record<string, string>;

beforeAll(async () => {
  threads = await createThreadGateway();
  const { ann } = threads.callers;
  const run = await ann.post('/v1/runs', { agent_id: 'test.bare', input: script([{ text: 'Done.' }]) });
  const thread = await ann.post('/v1/ai/threads', startBody([{ text: 'Hello.' }]));
  names = {
    run_id: run.body['run_id'] as string,
    thread_id: dataOf<{ thread_id: string }>(thread).thread_id,
    message_sequence_num: '1',
  };
});
afterAll(() => threads.stop());

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
  '__proto__ sentiment';
const field = fc.constantFrom(...FIELDS.split(' '));
const body: fc.Arbitrary<string | undefined> = fc.oneof(
  fc.constant(undefined),
  json.map((value) => JSON.stringify(value)),
  fc.dictionary(field, fc.oneof(json, text), { maxKeys: 6 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('{', '{"a":1,"a":2}', '\u0000', 'null', '"x"', '1e999', `{"input":"${'x'.repeat(200_000)}"}`),
);

interface Attempt {
  route: Route;
  method: string;
  params: string[];
  useReal: boolean;
  query: [string, string][];
  headers: [string, string][];
  body: string | undefined;
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  route: fc.constantFrom(...ROUTES),
  method: fc.constantFrom('', '', '', '', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
  params: fc.array(text, { minLength: 3, maxLength: 3 }),
  useReal: fc.boolean(),
  query: fc.array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom('profile', 'from', 'cursor', 'limit', 'dialect', 'children', 'stream', 'continuation_token'),
        text,
      ),
      text,
    ),
    { maxLength: 3 },
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
      ),
      fc.string({ maxLength: 60 }),
    ),
    { maxLength: 2 },
  ),
  body,
});

async function send({ route, method, params, useReal, query, headers, body: sent }: Attempt): Promise<number> {
  let n = 0;
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(well(useReal && names[name] !== undefined ? names[name] : (params[n++] ?? ''))),
  );
  const search = new URLSearchParams(query).toString();
  const verb = method === '' ? route.method : method;
  const takes = verb === 'POST' || verb === 'PUT' || verb === 'PATCH';
  const given = new Headers({ authorization: `Bearer ${threads.orgs.ann}` });
  if (takes) given.set('content-type', 'application/json');
  for (const [name, value] of headers) if (/^[\x20-\x7e]*$/.test(value)) given.set(name, value);
  const response = await fetch(`${threads.gateway.url}${path}${search === '' ? '' : `?${search}`}`, {
    method: verb,
    headers: given,
    ...(takes && sent !== undefined ? { body: sent } : {}),
    signal: AbortSignal.timeout(HANGS_AFTER_MS),
  });
  await response.body?.cancel();
  return response.status;
}

/** Lone surrogates cannot be written in an address. */
function well(value: string): string {
  return value.replaceAll(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '?');
}

it(
  `answers ${REQUESTS} requests without sense, and has nothing left of them (PERDURE_SEED=${SEED})`,
  { timeout: 3_600_000 },
  async () => {
    process.stderr.write(`fuzz: seed ${SEED}, ${REQUESTS} requests\n`);
    const attempts = fc.sample(attempt, { seed: SEED, numRuns: REQUESTS });
    // What the first ones bring up (connections, compiled code) is no leak.
    for (const each of attempts.slice(0, 200)) await send(each);
    const before = heap();
    const wrong: string[] = [];
    const statuses = new Map<number, number>();
    let next = 0;
    const lane = async () => {
      for (let n = next++; n < attempts.length; n = next++) {
        const each = attempts[n] as Attempt;
        const status = await send(each).catch((error: unknown) => String(error));
        if (typeof status === 'number') statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // A readiness probe may say that no worker polls, and it is right.
        if (typeof status !== 'number' || status >= 500)
          wrong.push(`${n}: ${status} of ${JSON.stringify({ ...each, route: each.route.operation }).slice(0, 600)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    process.stderr.write(`fuzz: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
    expect(wrong).toEqual([]);
    // Some got through, and some did not: else it would ask nothing.
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 404]));
    expect((await threads.callers.ann.get('/v1/agents')).status).toBe(200);
    expect(heap() - before).toBeLessThan(KEPT_BYTES);
  },
);

function heap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
