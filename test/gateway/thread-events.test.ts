/** The stream of a thread on the gateway: who may open it, what a revoked key does to it, and its limits. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script } from '../support/test-agents.js';
import { treeConfig } from '../support/tree-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';
import { createOrgs, readRest, serveFor } from './gateway-world.js';
import type { GatewayWorld, Orgs } from './gateway-world.js';
import { jsonLines } from './stream/read-stream.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
beforeAll(async () => {
  world = await createWorld(treeConfig());
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { limits: { open_streams: 2, recheck_ms: 100 } });
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const path = (threadId: string, query = 'follow=false') => `/v1/threads/${threadId}/events?${query}`;
const start = async (visibility: 'private' | 'org', turns: Parameters<typeof script>[0] = [{ text: 'Hello.' }]) => {
  const owner = { org_id: orgs.acme, created_by: 'ann', visibility };
  const { thread_id } = await world.client.threads.start({
    agent_id: 'test.node',
    messages: [script(turns)],
    ...owner,
  });
  return thread_id;
};

async function open(token: string, url: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await fetch(gateway.url + url, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  return response.body!.getReader();
}

describe('who may read a thread', () => {
  it.each([
    ['private', { ann: 200, bob: 404, ada: 200, gus: 404 }],
    ['org', { ann: 200, bob: 200, ada: 200, gus: 404 }],
  ] as const)('may stream it: %s', async (visibility, wanted) => {
    const threadId = await start(visibility);
    await settled(world.client.threads, threadId);
    for (const [name, status] of Object.entries(wanted)) {
      const caller = gateway.as(orgs[name as keyof typeof wanted]);
      const answer = await caller.get(path(threadId));
      expect([name, answer.status]).toEqual([name, status]);
      if (status === 200) expect(answer.text).toContain(`${threadId}/turn_1`);
      else expect(answer.text.replaceAll(threadId, '')).not.toMatch(/turn_1|acme|ann/);
      const missing = await caller.get(path('thr_nowhere'));
      if (status === 404) expect(answer.body['error']).toMatchObject({ code: 'unknown_thread' });
      expect(missing.status).toBe(404);
    }
    expect((await gateway.as().get(path(threadId))).status).toBe(401);
  });

  it('may cancel a turn by leaving only where it may write', async () => {
    const threadId = await start('org');
    await settled(world.client.threads, threadId);
    const asked = path(threadId, 'follow=false&on_disconnect=cancel');
    expect((await gateway.as(orgs.bob).get(asked)).status).toBe(403);
    expect((await gateway.as(orgs.ann).get(asked)).status).toBe(200);
  });

  it('is told in the profiles of its credential, and nothing that is no parameter is taken', async () => {
    const threadId = await start('private');
    await settled(world.client.threads, threadId);
    const { text } = await gateway.as(orgs.ann).get(path(threadId, 'follow=false&profile=user_chat&trailer=false'));
    expect(jsonLines(text)[0]).toMatchObject({ type: 'run_started', input: '' });
    expect((await gateway.as(orgs.ann).get(path(threadId, 'profile=metrics'))).status).toBe(403);
    expect((await gateway.as(orgs.ann).get(path(threadId, 'turn=2'))).status).toBe(400);
    expect((await gateway.as(orgs.ann).get(path(threadId, 'dialect=latin'))).status).toBe(400);
  });
});

describe('a stream of a thread that is open', () => {
  it('counts as one, and is free again when its reader goes', async () => {
    const threadId = await start('private');
    const readers = [await open(orgs.ann, path(threadId, '')), await open(orgs.ann, path(threadId, ''))];
    const refused = await gateway.as(orgs.ann).get(path(threadId, ''));
    expect([refused.status, refused.body['error']]).toEqual([
      429,
      expect.objectContaining({ code: 'too_many_streams' }),
    ]);
    expect((await gateway.as(orgs.ann).get(path(threadId, 'from=99'))).status).toBe(429);
    await Promise.all(readers.map((reader) => reader.cancel()));
    await expect.poll(async () => (await gateway.as(orgs.ann).get(path(threadId))).status).toBe(200);
    // Those that were read to their end have left no place taken.
    for (let n = 0; n < 4; n++) expect((await gateway.as(orgs.ann).get(path(threadId))).status).toBe(200);
    // What is refused takes no place.
    for (let n = 0; n < 4; n++) expect((await gateway.as(orgs.ann).get(path(threadId, 'from=99'))).status).toBe(400);
  });

  it('is cut between turns when its key is revoked, and the turn of one who had asked for a cancel goes on', async () => {
    const { keys, acme } = orgs;
    const { key, id } = await keys.create({ org_id: acme, user_id: 'ann', role: 'member', profiles: ['agent_debug'] });
    const idle = await start('private');
    await settled(world.client.threads, idle);
    const busy = await start('private', [{ text: ['well'], hang: true }]);
    const between = await open(key, path(idle, 'from=2&trailer=true'));
    const within = await open(key, path(busy, 'on_disconnect=cancel&trailer=true'));
    await keys.revoke(id);
    const said = await Promise.all([readRest(between), readRest(within)]);
    for (const text of said) expect(text).not.toContain('"perdure":"end"');
    expect(said[0].trim()).toBe('');
    expect((await world.client.threads.header(busy)).status).toBe('roboto_turn');
    await world.client.threads.delete(busy);
  });
});

it('is in the description of the routes', async () => {
  const { body } = await gateway.as().get('/openapi.json');
  const paths = body['paths'] as Record<string, { get: { operationId: string; parameters: { name: string }[] } }>;
  const { get } = paths['/v1/threads/{thread_id}/events']!;
  expect(get.operationId).toBe('streamThreadEvents');
  expect(get.parameters.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['thread_id', 'from', 'Last-Event-ID']),
  );
});
