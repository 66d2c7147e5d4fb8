/**
 * Every route, under every scope alone and under what a role has by default, for each person of `rights-table.ts`: and
 * for whoever has no credential, or one that only reads figures.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultScopes, SCOPES } from '../../contract/scopes.js';
import type { Scope } from '../../contract/scopes.js';
import type { ProfileName } from '../../contract/profiles.js';
import { ROUTES } from '../../gateway/routes/table.js';
import type { Route } from '../../gateway/route.js';
import { script } from '../support/test-agents.js';
import { AGENTS, OPEN, OPERATION, ORG_THREADS, OWN_THREADS, RUNS } from './rights-table.js';
import type { Expected, Person } from './rights-table.js';
import { createThreadGateway, dataOf, said, startBody } from './threads/thread-gateway.js';
import type { ThreadGateway } from './threads/thread-gateway.js';

const PEOPLE: readonly Person[] = ['ann', 'bob', 'ada', 'gus'];
/** Undefined: none is named, and those of the role count. */
const SCOPE_SETS: readonly (Scope | undefined)[] = [...SCOPES, undefined];
const DEBUG: [ProfileName, ...ProfileName[]] = ['agent_debug', 'user_chat'];

let threads: ThreadGateway;
let names: Record<string, string>;
const tokens = new Map<string, string>();

const token = (person: Person | 'meter', scope: Scope | undefined) => tokens.get(`${person} ${scope ?? ''}`);

beforeAll(async () => {
  threads = await createThreadGateway();
  const { orgs } = threads;
  const make = async (person: Person | 'meter', scope: Scope | undefined, profiles = DEBUG) => {
    const org_id = person === 'gus' ? orgs.globex : orgs.acme;
    const role = person === 'ada' || person === 'gus' ? 'admin' : 'member';
    // Ada's power over what others made is a scope of its own: without it her role is a name.
    const scopes = scope === undefined ? undefined : person === 'ada' ? [scope, 'admin' as const] : [scope];
    const { key } = await orgs.keys.create({
      org_id,
      user_id: person,
      role,
      profiles,
      ...(scopes === undefined ? {} : { scopes }),
    });
    tokens.set(`${person} ${scope ?? ''}`, key);
  };
  for (const person of PEOPLE) for (const scope of SCOPE_SETS) await make(person, scope);
  await make('meter', undefined, ['metrics']);

  const { ann } = threads.callers;
  const run = await ann.post('/v1/runs', { agent_id: 'test.bare', input: script([{ text: 'Done.' }]) });
  const runId = run.body['run_id'] as string;
  await threads.world.logOf(runId);
  const agent = await ann.post('/v1/ai/agents', storedAgent());
  names = {
    run_id: runId,
    artefact_id: `art_${'0'.repeat(64)}`,
    agent_id: dataOf<{ agent_id: string; name: string }>(agent).agent_id,
    name: dataOf<{ agent_id: string; name: string }>(agent).name,
    message_sequence_num: '1',
  };
});
afterAll(() => threads.stop());

function storedAgent() {
  return { name: `greeter-${randomUUID()}`, request_template: { messages: [said(script([{ text: 'Hello.' }]))] } };
}

async function newThread(visibility: 'org' | 'private'): Promise<string> {
  const { ann } = threads.callers;
  const answer = await ann.post('/v1/ai/threads', startBody([{ text: 'Hello.' }], { visibility }));
  return dataOf<{ thread_id: string }>(answer).thread_id;
}

/** What is good enough to get as far as the rights; whoever passes them may still be told that it does not fit. */
const BODIES: Record<string, unknown> = {
  cancelRun: {},
  answerClarification: { await_id: 'none', answer: 'x' },
  submitToolResults: { results: [{ tool_call_id: 'call_9_9', status: 'declined' }] },
  decideThreadApproval: { tool_use_id: 'none', digest: 'd', decision: 'deny' },
  decideApproval: { await_id: 'none', digest: 'd', decision: 'deny' },
};

interface Outcome {
  status: number;
  /** Of the body, by either form of errors. */
  code: string | undefined;
}

async function ask(route: Route, bearer: string | undefined, threadId: string): Promise<Outcome> {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(name === 'thread_id' ? threadId : (names[name] ?? 'none')),
  );
  const query = route.operation === 'readThreadDelta' ? '?continuation_token=0' : '';
  const leaving = new AbortController();
  const body =
    BODIES[route.operation.replace(/AsChat$/, '')] ??
    (route.method === 'POST' || route.method === 'PUT' ? {} : undefined);
  const response = await fetch(threads.gateway.url + path + query, {
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

const routesOf = (operation: string) =>
  ROUTES.filter((route) => route.operation === operation || route.operation === `${operation}AsChat`);

it('has a row for every route', () => {
  const rows = [...RUNS, ...AGENTS, ...ORG_THREADS, ...OPERATION].map(([operation]) => operation);
  const others = ROUTES.filter(({ deprecated }) => deprecated === undefined).map(({ operation }) => operation);
  expect([...rows, ...OPEN].toSorted()).toEqual(others.toSorted());
});

let cells = 0;

describe.each([
  ['runs', RUNS, undefined],
  ['agents', AGENTS, undefined],
  ['threads of the org', ORG_THREADS, 'org'],
  ['threads of one’s own', OWN_THREADS, 'private'],
  ['operation', OPERATION, undefined],
] as const)('%s', (_what, rows, visibility) => {
  it.each(rows)('%s takes %s', async (operation, scope, ...columns) => {
    const wrong: string[] = [];
    // One that is over when its row is: what is written to it, or deleted, is no other row's matter.
    let threadId = visibility === undefined ? 'none' : await newThread(visibility);
    for (const route of routesOf(operation)) {
      for (const [n, person] of PEOPLE.entries()) {
        for (const having of SCOPE_SETS) {
          const role = person === 'ada' || person === 'gus' ? 'admin' : 'member';
          const has = having === undefined ? defaultScopes(role, DEBUG).includes(scope) : having === scope;
          // Ada has that scope in all her credentials.
          const may = has || (person === 'ada' && scope === 'admin');
          const expected = may ? columns[n] : 'forbidden';
          const got = await ask(route, token(person, having), threadId);
          cells += 1;
          if (expected === 'yes' && got.status < 300 && operation === 'deleteThread' && visibility !== undefined)
            threadId = await newThread(visibility);
          if (expected === 'yes' && got.status < 300 && operation === 'deleteStoredAgent') await newAgent();
          if (outcomeOf(got) !== expected)
            wrong.push(
              `${route.path} for ${person} with ${having ?? 'the default'}: ${JSON.stringify(got)}, not ${expected}`,
            );
        }
      }
      for (const bearer of [undefined, `perdure_${'0'.repeat(12)}_${'A'.repeat(43)}`]) {
        const got = await ask(route, bearer, threadId);
        cells += 1;
        if (outcomeOf(got) !== 'unauthenticated') wrong.push(`${route.path} for nobody: ${JSON.stringify(got)}`);
      }
      const metered = await ask(route, token('meter', undefined), threadId);
      cells += 1;
      const reads = scope.endsWith(':read') ? columns[PEOPLE.indexOf('bob')] : 'forbidden';
      if (outcomeOf(metered) !== reads)
        wrong.push(`${route.path} for a key that reads figures: ${JSON.stringify(metered)}, not ${reads}`);
    }
    expect(wrong).toEqual([]);
  });
});

async function newAgent(): Promise<void> {
  const agent = dataOf<{ agent_id: string; name: string }>(
    await threads.callers.ann.post('/v1/ai/agents', storedAgent()),
  );
  names = { ...names, agent_id: agent.agent_id, name: agent.name };
}

it('has asked more than a thousand times', () => {
  process.stderr.write(`rights: ${cells} cells\n`);
  expect(cells).toBeGreaterThan(1_000);
});
