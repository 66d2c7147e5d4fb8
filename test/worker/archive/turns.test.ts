/** The runs of a thread's turns, when they are over: read as all runs, by those who may read the thread. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOrgs, runPath, serveFor } from '../../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../../gateway/gateway-world.js';
import { script } from '../../support/test-agents.js';
import { until } from '../../support/world.js';
import { threadConfig } from '../../threads/thread-world.js';
import { createArchivedWorld } from './archived-world.js';
import type { ArchivedWorld } from './archived-world.js';

let given: ArchivedWorld;
let orgs: Orgs;
let gateway: GatewayWorld;
let threadId: string;
const turn = () => `${threadId}/turn_1`;

beforeAll(async () => {
  given = await createArchivedWorld(threadConfig());
  orgs = await createOrgs();
  const { world, kept } = given;
  const request = { agent_id: 'test.agent', org_id: orgs.acme, created_by: 'ann' };
  const content = [{ content_type: 'text' as const, text: script([{ text: 'Said in the turn.' }]) }];
  const thread = await world.client.threads.start({ ...request, messages: [{ role: 'user', content }] } as never);
  threadId = thread.thread_id;
  await until(async () => (await world.client.threads.get(threadId)).status === 'user_turn', 'the turn to end');
  await given.archived(turn());
  gateway = await serveFor({ ...kept, server: world.server }, orgs.auth);
});
afterAll(async () => {
  await gateway.stop();
  await given.end();
  await orgs.remove();
});

it('are told in the stream of their thread also when the server has forgotten them', { timeout: 180_000 }, async () => {
  const read = async () => {
    const texts: string[] = [];
    for await (const event of given.kept.client.threads.stream(threadId, { follow: false })) {
      texts.push(JSON.stringify(event));
    }
    return texts;
  };
  const before = await read();
  expect(before.join()).toContain('Said in the turn.');
  await given.forget(turn());
  expect(await read()).toEqual(before);
});

it('are read without a worker by whoever may read the thread, and by nobody else', async () => {
  await given.world.end();
  const mine = await gateway.as(orgs.ann).get(runPath(turn()));
  expect(mine.status, mine.text).toBe(200);
  expect(mine.body).toMatchObject({ answer: 'Said in the turn.', status: 'success' });
  expect((await gateway.as(orgs.ada).get(runPath(turn()))).status).toBe(200);
  for (const other of [orgs.bob, orgs.gus]) {
    const { status, text } = await gateway.as(other).get(runPath(turn()));
    expect(status, text).toBe(404);
  }
});
