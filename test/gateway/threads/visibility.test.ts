/** Who may do what with a thread and with the runs of its turns, on every route that names one. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '../../../gateway/routes/table.js';
import type { Route } from '../../../gateway/route.js';
import { until } from '../../support/world.js';
import { client_tools, settled } from '../../threads/thread-world.js';
import type { Answer } from '../gateway-world.js';
import { createThreadGateway, dataOf, refusalOf, startBody, threadPath } from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

type Visibility = 'private' | 'org';

let world: ThreadGateway;
/** What those who may not change it try, and what those who may do. */
const guarded: Partial<Record<Visibility, string>> = {};
const used: Partial<Record<Visibility, string>> = {};
beforeAll(async () => {
  world = await createThreadGateway();
  for (const visibility of ['private', 'org'] as const) {
    guarded[visibility] = await begin(visibility);
    used[visibility] = await begin(visibility);
  }
});
afterAll(() => world.stop());

const look = { tool: 'client.declared.client_look', args: {} };

/** A thread of ann's that waits for a result of the client, with its turn's run. */
async function begin(visibility: Visibility): Promise<string> {
  const turns = [{ tool_calls: [look] }, { text: 'Seen.' }];
  const body = startBody(turns, { visibility, client_tools, title: randomUUID() });
  const { thread_id } = dataOf(await world.callers.ann.post('/v1/ai/threads', body));
  await settled(world.world.client.threads, thread_id);
  return thread_id;
}

/** For each route, what whoever may use it can send, and whether it changes the thread; there is no other default. */
interface Expectation {
  changes: boolean;
  body?: unknown;
  search?: string;
  /** What a member who only reads is told, where it is not that. */
  refused?: string;
}
const reads = (search = ''): Expectation => ({ changes: false, search });
const writes = (body?: unknown): Expectation => ({ changes: true, body });
const result = { tool_use_id: 'turn_1_call_1_1', status: 'success' };

const THREAD_ROUTES: Record<string, Expectation> = {
  readThread: reads(),
  readThreadSummary: reads(),
  readThreadDelta: reads('?next_token=none'),
  streamThreadEvents: reads('?follow=false'),
  renameThread: writes({ title: 'New' }),
  deleteThread: writes(),
  sendMessage: writes({ message: 'Hello.', on_busy: 'enqueue' }),
  submitToolUseResults: writes({ tool_results: [result] }),
  cancelTurn: writes(),
  setVisibility: writes({ visibility: 'org' }),
  // Who may decide, the agent's policy says, which here is as it is by default: pauses.test.ts has others.
  decideThreadApproval: {
    ...writes({ tool_use_id: 'x', digest: 'd', decision: 'deny' }),
    refused: 'RobotoUnauthorizedException',
  },
  // Whoever may read it makes something of their own.
  forkThread: { changes: false, body: { message_sequence_num: 0 } },
  pinThread: { changes: false, body: { pinned: true } },
  giveFeedback: { changes: false, body: { sentiment: 'positive', categories: [], notes: null } },
};
const TURN_ROUTES: Record<string, Expectation> = {
  readRun: reads(),
  readTree: reads(),
  readTranscript: reads(),
  readSteps: reads(),
  readArtefact: reads(),
  streamEvents: reads('?follow=false'),
  cancelRun: writes({}),
  answerClarification: writes({ await_id: 'a', answer: 'x' }),
  submitToolResults: writes({ results: [{ tool_call_id: 'call_1_1', status: 'declined' }] }),
  decideApproval: { ...writes({ await_id: 'a', digest: 'd', decision: 'deny' }), refused: 'forbidden' },
};

const named = (parameter: string) => ROUTES.filter(({ path }) => path.includes(parameter));

it('every route that names a thread or a run has its expectation here, and none is there for no route', () => {
  const current = ({ deprecated }: Route) => deprecated === undefined;
  const operations = (parameter: string) =>
    named(parameter)
      .filter(current)
      .map(({ operation }) => operation)
      .toSorted();
  expect(operations('{thread_id}')).toEqual(Object.keys(THREAD_ROUTES).toSorted());
  expect(operations('{run_id}')).toEqual(Object.keys(TURN_ROUTES).toSorted());
  const older = ROUTES.filter(({ deprecated }) => deprecated === true).map(({ operation }) => operation);
  const withOlder = ROUTES.filter(({ path }) => path.startsWith('/v1/ai/threads')).map(({ operation }) => operation);
  expect(older.toSorted()).toEqual(withOlder.map((name) => `${name}AsChat`).toSorted());
});

const cases = [
  ...named('{thread_id}').map((route) => ({
    route,
    expected: THREAD_ROUTES[route.operation.replace(/AsChat$/, '')],
    idOf: (threadId: string) => threadId,
  })),
  ...named('{run_id}').map((route) => ({
    route,
    expected: TURN_ROUTES[route.operation],
    idOf: (threadId: string) => `${threadId}/turn_1`,
  })),
].flatMap((each) => (['private', 'org'] as const).map((visibility) => ({ ...each, visibility })));

/** What the route itself says, be it good or not, comes after it was decided who may call it. */
function isLetIn({ status, text }: Answer): boolean {
  return status !== 401 && status !== 403 && !/there is no (run|thread) /.test(text);
}

describe.each(cases)('$route.operation of a thread that is $visibility', ({ route, expected, idOf, visibility }) => {
  const call = (by: 'ann' | 'bob' | 'ada' | 'gus', id: string) => {
    const named = route.path.replace(/\{(run|thread)_id\}/, encodeURIComponent(id));
    const path = named.replace(/\{\w+\}/, '1') + (expected?.search ?? '');
    return world.callers[by].call(route.method, path, expected?.body, { 'x-request-id': 'same' });
  };
  const looks = async (by: 'bob' | 'gus', id: string) => {
    const { status, headers, text } = await call(by, id);
    return { status, headers: [...headers].filter(([name]) => name !== 'date'), text: text.replaceAll(id, 'ID') };
  };

  it('is for its creator, the admins of the org and, if it is the org’s, its members', async () => {
    const threadId = guarded[visibility] ?? '';
    const nowhere = threadId.replace(/.{8}$/, '00000000');
    // Nobody of another org, admin or not, can tell it from one that is not there.
    const foreign = await looks('gus', idOf(threadId));
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await looks('gus', idOf(nowhere)));
    const before = await world.world.client.threads.get(threadId);

    const member = await call('bob', idOf(threadId));
    if (visibility === 'private') expect(await looks('bob', idOf(threadId))).toEqual(await looks('bob', idOf(nowhere)));
    else if (expected?.changes === true) {
      expect(member.status).toBe(403);
      if (route.path.startsWith('/v1/ai/')) {
        expect(refusalOf(member)[1]).toBe(expected.refused ?? 'RobotoThreadReadOnlyException');
      } else expect(member.body['error']).toMatchObject({ code: expected.refused ?? 'thread_read_only' });
    } else expect(isLetIn(member), member.text).toBe(true);
    // Nobody who was refused has changed anything, and nobody who only reads.
    expect(await world.world.client.threads.get(threadId)).toEqual(before);

    for (const by of ['ann', 'ada'] as const) {
      const isLast = route.method === 'DELETE';
      const answer = await call(by, idOf(isLast ? await begin(visibility) : (used[visibility] ?? '')));
      expect(isLetIn(answer), answer.text).toBe(true);
    }
  });
});

it('a fork is private to whoever made it, and not its source’s creator’s to read', async () => {
  const { ann, bob, ada } = world.callers;
  const source = await begin('org');
  const fork = dataOf(await bob.post(threadPath(source, '/fork'), { message_sequence_num: 0 }));
  expect(fork).toMatchObject({ created_by: 'bob', org_id: world.orgs.acme, visibility: 'private' });
  expect(refusalOf(await ann.get(threadPath(fork.thread_id)))[0]).toBe(404);
  expect(dataOf(await ada.get(threadPath(fork.thread_id))).thread_id).toBe(fork.thread_id);
});

it('a start sets the owner itself', async () => {
  const { ann } = world.callers;
  const body = startBody([{ text: 'Hello.' }], { title: randomUUID() });
  const asked = { 'x-roboto-org-id': world.orgs.acme };
  const record = dataOf(await ann.post('/v1/ai/threads', body, asked));
  expect(record).toMatchObject({ org_id: world.orgs.acme, created_by: 'ann', visibility: 'private' });
  const foreign = await ann.post('/v1/ai/threads', body, { 'x-roboto-org-id': world.orgs.globex });
  expect(refusalOf(foreign).slice(0, 2)).toEqual([403, 'RobotoUnauthorizedException']);
  const unknown = await ann.post('/v1/ai/threads', { ...body, created_by: 'bob' });
  expect(refusalOf(unknown)).toEqual([400, 'RobotoInvalidRequestException', expect.stringContaining('created_by')]);
});

it('a thread of no org is nobody’s but the local user’s', async () => {
  const { thread_id } = await world.world.client.threads.start({ agent_id: 'test.agent' });
  for (const by of Object.values(world.callers)) expect(refusalOf(await by.get(threadPath(thread_id)))[0]).toBe(404);
});

it('a thread that was deleted is not there, for whoever has just read it too', async () => {
  const { ann } = world.callers;
  const threadId = await begin('private');
  const turn = `/v1/runs/${encodeURIComponent(`${threadId}/turn_1`)}`;
  dataOf(await ann.get(threadPath(threadId)));
  expect((await ann.get(turn)).status).toBe(200);
  dataOf(await ann.call('DELETE', threadPath(threadId)));
  await until(async () => (await ann.get(threadPath(threadId))).status === 404, 'the thread to be gone');
  expect((await ann.get(turn)).status).toBe(404);
  expect((await ann.post(threadPath(threadId, '/visibility'), { visibility: 'private' })).status).toBe(404);
  const message = refusalOf(await ann.get(threadPath(threadId)))[2];
  const nowhere = threadId.replace(/.{8}$/, '00000000');
  expect(message.replace(threadId, 'ID')).toBe(refusalOf(await ann.get(threadPath(nowhere)))[2].replace(nowhere, 'ID'));
});
