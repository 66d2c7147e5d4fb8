/**
 * Every row of `rights-table.ts`, under every scope alone, under what a role has by default and under what the row takes,
 * for each person: and for whoever has no credential, or one that only reads figures.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultScopes, SCOPES } from '../../contract/scopes.js';
import type { Scope } from '../../contract/scopes.js';
import type { ProfileName } from '../../contract/profiles.js';
import { ROUTES } from '../../gateway/routes/table.js';
import type { Route } from '../../gateway/route.js';
import { script } from '../support/test-agents.js';
import { fittingBody } from './fitting-bodies.js';
import { serveFor } from './gateway-world.js';
import type { GatewayWorld } from './gateway-world.js';
import { AGENTS, BY_POLICY, OPEN, OPERATION, ORG_THREADS, OWN_THREADS, RUNS } from './rights-table.js';
import type { Expected, Named, Person } from './rights-table.js';
import { settled } from '../threads/thread-world.js';
import { createThreadGateway, dataOf, PATIENT, startBody, THREAD_CATALOG } from './threads/thread-gateway.js';
import type { ThreadGateway } from './threads/thread-gateway.js';

type Somebody = Person | Named | 'adi' | 'meter';
/** In the order of the columns; Adi is answered like Bob. */
const PEOPLE: readonly (readonly [Somebody, column: number])[] = [
  ['ann', 0],
  ['bob', 1],
  ['ada', 2],
  ['gus', 3],
  ['adi', 1],
];
const DEBUG: [ProfileName, ...ProfileName[]] = ['agent_debug', 'user_chat'];

let threads: ThreadGateway;
let names: Record<string, string>;
const tokens = new Map<string, Promise<string>>();

/** Undefined: the credential names no scopes, and those of the role count. */
function tokenOf(person: Somebody, scopes: readonly Scope[] | undefined): Promise<string> {
  const id = `${person} ${scopes?.join(' ') ?? ''}`;
  const known = tokens.get(id) ?? makeToken(person, scopes);
  tokens.set(id, known);
  return known;
}

async function makeToken(person: Somebody, scopes: readonly Scope[] | undefined): Promise<string> {
  const { orgs } = threads;
  // Ada's power over what others made is a scope of its own: without it her role is a name, as Adi's is.
  const given = person === 'ada' && scopes !== undefined ? [...scopes, 'admin' as const] : scopes;
  const roles = person === 'sue' ? ['support'] : person === 'fay' ? ['finance'] : undefined;
  const { key } = await orgs.keys.create({
    org_id: person === 'gus' ? orgs.globex : orgs.acme,
    user_id: person,
    role: roleOf(person),
    profiles: person === 'meter' ? ['metrics'] : DEBUG,
    ...(roles === undefined ? {} : { roles }),
    ...(given === undefined ? {} : { scopes: [...given] }),
  });
  return key;
}

function roleOf(person: Somebody): 'admin' | 'member' {
  return ['ada', 'gus', 'adi'].includes(person) ? 'admin' : 'member';
}

/** What a credential without scopes of its own may do; Adi's names all but one. */
function scopesOf(person: Somebody): readonly Scope[] {
  return defaultScopes(roleOf(person), DEBUG).filter((scope) => person !== 'adi' || scope !== 'admin');
}

beforeAll(async () => {
  threads = await createThreadGateway();
  const { ann } = threads.callers;
  const run = await ann.post('/v1/runs', { agent_id: 'test.bare', input: script([{ text: 'Done.' }]) });
  const runId = run.body['run_id'] as string;
  await threads.world.logOf(runId);
  const agent = dataOf<{ agent_id: string; name: string }>(
    await ann.post('/v1/ai/agents', fittingBody('createStoredAgent')),
  );
  names = {
    run_id: runId,
    artefact_id: `art_${'0'.repeat(64)}`,
    agent_id: agent.agent_id,
    name: agent.name,
    message_sequence_num: '1',
  };
});
afterAll(() => threads.stop());

async function newThread(visibility: 'org' | 'private'): Promise<string> {
  const { ann } = threads.callers;
  const more = { visibility, agent_id: 'test.bare', title: randomUUID() };
  const answer = await ann.post('/v1/ai/threads', startBody([{ text: 'Hello.' }], more));
  const { thread_id } = dataOf<{ thread_id: string }>(answer);
  // Before that there is no message to give feedback to.
  await settled(threads.world.client.threads, thread_id);
  return thread_id;
}

const QUERIES: Record<string, string> = { readThreadDelta: 'next_token=none' };

const OF_A_TURN = ' of a turn';
const operationOf = (request: string) => request.replace(OF_A_TURN, '').split('?')[0] ?? '';
const bodyOf = (route: Route) => fittingBody(route.operation);

interface Outcome {
  status: number;
  /** Of the body, by either form of errors. */
  code: string | undefined;
}

interface Asking {
  route: Route;
  request: string;
  bearer: string | undefined;
  threadId: string;
  gateway?: GatewayWorld;
}

async function ask({ route, request, bearer, threadId, gateway = threads.gateway }: Asking): Promise<Outcome> {
  const given = {
    ...names,
    thread_id: threadId,
    ...(request.endsWith(OF_A_TURN) ? { run_id: `${threadId}/turn_1` } : {}),
  };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((given as Record<string, string>)[name] ?? 'none'),
  );
  const query = request.split('?')[1] ?? QUERIES[operationOf(request)] ?? '';
  const leaving = new AbortController();
  const body = bodyOf(route);
  const response = await fetch(`${gateway.url}${path}${query === '' ? '' : `?${query}`}`, {
    method: route.method,
    headers: {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: leaving.signal,
  });
  const text = response.ok ? '' : await response.text();
  leaving.abort();
  const error =
    text === '' ? undefined : (JSON.parse(text) as { error?: { code?: string; error_code?: string } }).error;
  return { status: response.status, code: error?.code ?? error?.error_code };
}

function outcomeOf({ status, code }: Outcome): Expected | 'unauthenticated' {
  if (status === 401) return 'unauthenticated';
  if (status === 403)
    return code === 'thread_read_only' || code === 'RobotoThreadReadOnlyException' ? 'read_only' : 'forbidden';
  // That there is no such artefact is told to whoever may read the run.
  if (status === 404 && code !== 'unknown_artefact') return 'unknown';
  expect(status).toBeLessThan(500);
  return 'yes';
}

const routesOf = (request: string) =>
  ROUTES.filter(({ operation }) => [operationOf(request), `${operationOf(request)}AsChat`].includes(operation));

it('has a row for every route, and a body that fits each of them', () => {
  const rows = [...RUNS, ...AGENTS, ...ORG_THREADS, ...OPERATION].map(([request]) => operationOf(request));
  const others = ROUTES.filter(({ deprecated }) => deprecated === undefined).map(({ operation }) => operation);
  expect([...new Set(rows), ...OPEN].toSorted()).toEqual(others.toSorted());
  const unfit = ROUTES.filter((route) => route.body?.safeParse(bodyOf(route)).success === false);
  expect(unfit.map(({ operation }) => operation)).toEqual([]);
});

/** Each scope alone, those of the role, those that the row takes, and these without one of them. */
function scopeSets(needed: readonly Scope[], person: Somebody): readonly (readonly Scope[] | undefined)[] {
  const several = needed.length < 2 ? [] : [needed, ...needed.map((left) => needed.filter((scope) => scope !== left))];
  const byDefault = person === 'adi' ? scopesOf(person) : undefined;
  return [...SCOPES.map((scope) => [scope]), byDefault, ...several];
}

function expectedOf(needed: readonly Scope[], has: readonly Scope[], column: Expected): Expected {
  const [first, ...others] = needed;
  if (first === undefined || !has.includes(first)) return 'forbidden';
  if (column === 'unknown') return column;
  return others.every((scope) => has.includes(scope)) ? column : 'forbidden';
}

let cells = 0;

describe.each([
  ['runs', RUNS, undefined],
  ['agents', AGENTS, undefined],
  ['threads of the org', ORG_THREADS, 'org'],
  ['threads of one’s own', OWN_THREADS, 'private'],
  ['operation', OPERATION, undefined],
] as const)('%s', (_what, rows, visibility) => {
  it.each(rows)('%s takes %s', { timeout: 120_000 }, async (request, scopes, ...columns) => {
    const needed = scopes.split(' ') as Scope[];
    const wrong: string[] = [];
    // One that is over when its row is: what is written to it, or deleted, is no other row's matter.
    let threadId = visibility === undefined ? 'none' : await newThread(visibility);
    for (const route of routesOf(request)) {
      const look = async (bearer: string | undefined, expected: string, whose: string): Promise<Outcome> => {
        const got = await ask({ route, request, bearer, threadId });
        cells += 1;
        if (outcomeOf(got) !== expected)
          wrong.push(`${route.path} (${request}) for ${whose}: ${JSON.stringify(got)}, not ${expected}`);
        return got;
      };
      for (const [person, column] of PEOPLE) {
        for (const having of scopeSets(needed, person)) {
          const has =
            having === undefined ? scopesOf(person) : person === 'ada' ? [...having, 'admin' as const] : having;
          const expected = expectedOf(needed, has, columns[column] ?? 'forbidden');
          const whose = `${person} with ${having?.join(', ') ?? 'the default'}`;
          const got = await look(await tokenOf(person, having), expected, whose);
          if (got.status < 300 && operationOf(request) === 'deleteThread' && visibility !== undefined)
            threadId = await newThread(visibility);
          if (got.status < 300 && operationOf(request) === 'deleteStoredAgent') await newAgent();
        }
      }
      for (const bearer of [undefined, `perdure_${'0'.repeat(12)}_${'A'.repeat(43)}`])
        await look(bearer, 'unauthenticated', 'nobody');
      // A key that reads figures reads, and does nothing else.
      const reads = needed.every((scope) => scope.endsWith(':read'));
      const readsFirst = needed[0]?.endsWith(':read') === true && columns[1] === 'unknown';
      const metered = reads || readsFirst ? (columns[1] ?? 'forbidden') : 'forbidden';
      await look(await tokenOf('meter', undefined), metered, 'a key that reads figures');
    }
    expect(wrong).toEqual([]);
  });
});

describe('of an agent that says who may answer', () => {
  const policy = {
    allow: 'all' as const,
    deny: [],
    approve: [],
    answers: ['role:support'],
    approvals: ['role:finance'],
  };
  let gateway: GatewayWorld;
  beforeAll(async () => {
    const catalog = { ...THREAD_CATALOG, policies: new Map([['test.bare', policy]]) };
    gateway = await serveFor(threads.world, threads.orgs.auth, { limits: PATIENT, catalog });
  });
  afterAll(() => gateway.stop());

  it.each(BY_POLICY)('%s takes whom it names', async (request, expected) => {
    const threadId = await newThread('org');
    const got: Record<string, string> = {};
    for (const person of Object.keys(expected) as Named[]) {
      const bearer = await tokenOf(person, undefined);
      for (const route of routesOf(request)) {
        got[person] = outcomeOf(await ask({ route, request, bearer, threadId, gateway }));
        cells += 1;
        expect(got[person], `${route.path} for ${person}`).toBe(expected[person]);
      }
    }
  });
});

async function newAgent(): Promise<void> {
  const agent = dataOf<{ agent_id: string; name: string }>(
    await threads.callers.ann.post('/v1/ai/agents', fittingBody('createStoredAgent')),
  );
  names = { ...names, agent_id: agent.agent_id, name: agent.name };
}

it('has asked more than a thousand times', () => {
  process.stderr.write(`rights: ${cells} cells\n`);
  expect(cells).toBeGreaterThan(1_000);
});
