/**
 * A sender that follows a thread by its events, and repeats nothing by itself: what it has read there it may say again.
 * Which event shows what is in test/contract/request-mark.test.ts.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createHttpClient } from '../../../client/http/index.js';
import type { SendAnswer } from '../../../contract/thread-commands.js';
import { ask, child, treeConfig } from '../../support/tree-agents.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { createOrgs, serveFor } from '../gateway-world.js';
import type { Caller, GatewayWorld, Orgs } from '../gateway-world.js';
import { dataOf, PATIENT, said, startBody, THREAD_CATALOG, threadPath } from './thread-gateway.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let ann: Caller;
let http: ReturnType<typeof createHttpClient>;
beforeAll(async () => {
  world = await createWorld(treeConfig());
  orgs = await createOrgs();
  const agents = [{ agent_id: 'test.node', model_profile: 'script', tools: [] }];
  gateway = await serveFor(world, orgs.auth, { limits: PATIENT, catalog: { ...THREAD_CATALOG, agents } });
  ann = gateway.as(orgs.ann);
  http = createHttpClient({ url: gateway.url, token: orgs.ann });
});
afterAll(async () => {
  await http.close();
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const twice = [{ tool_calls: [ask('One?')] }, { tool_calls: [ask('Two?')] }, { text: 'Thanks.' }];

async function begin(turns: Parameters<typeof startBody>[0]): Promise<string> {
  return dataOf(await ann.post('/v1/ai/threads', startBody(turns))).thread_id;
}

/** Without a key, as the published client does. */
async function sayYes(threadId: string): Promise<SendAnswer> {
  return dataOf(await ann.post(threadPath(threadId, '/messages'), { message: said('yes') }));
}

/** When the thread knows of the question, so that what is said next is its answer. */
async function untilAsked(threadId: string, awaitId: string): Promise<void> {
  const isAsked = async () => (await world.client.threads.header(threadId)).pauses[0]?.await_id === awaitId;
  await until(isAsked, `the question ${awaitId}`);
}

it.each([
  ['of the turn itself', twice],
  ['of an agent that is used as a tool', [{ tool_calls: [child(twice)] }, { text: 'Thanks.' }]],
])('the same words answer one question after another: %s', async (_whose, turns) => {
  const threadId = await begin([...turns, { text: 'Again.' }]);
  const answers: SendAnswer[] = [];
  for await (const event of http.threads.stream(threadId)) {
    // What is below the turn is told by its own run too: once is enough.
    if (event.type === 'thread_ended' || event.run_id !== `${threadId}/turn_1`) continue;
    if (event.type === 'await_clarification' || (event.type === 'child_await_changed' && event.state === 'open')) {
      await untilAsked(threadId, event.await_id);
      answers.push(await sayYes(threadId));
    }
    if (event.type !== 'run_completed') continue;
    await until(async () => (await world.client.threads.header(threadId)).turn === undefined, 'the turn to end');
    answers.push(await sayYes(threadId));
    break;
  }
  expect(answers).toMatchObject([
    { state: 'answered', await_id: 'clarification_call_1_1' },
    { state: 'answered', await_id: 'clarification_call_2_1' },
    { state: 'started', run_id: `${threadId}/turn_2` },
  ]);
});

it('until then they are the same message, whatever is asked meanwhile and whoever else reads', async () => {
  const threadId = await begin(twice);
  await untilAsked(threadId, 'clarification_call_1_1');
  const first = await sayYes(threadId);
  expect(await sayYes(threadId)).toEqual(first);
  await untilAsked(threadId, 'clarification_call_2_1');
  const events = `/v1/threads/${threadId}/events?follow=false`;
  expect((await gateway.as(orgs.ada).get(events)).text).toContain('await_resolved');
  expect(await sayYes(threadId)).toEqual(first);
  // What has not ended by now is shown by its beginning only: that is no news of the answer to it.
  expect((await ann.get(events)).text).toContain('await_resolved');
  const second = await sayYes(threadId);
  expect(second).toMatchObject({ state: 'answered', await_id: 'clarification_call_2_1' });
  expect(await sayYes(threadId)).toEqual(second);
});

it('a start is another one when its first turn was read to the end', async () => {
  const body = startBody([{ text: 'Hello.' }], { title: 'Read by its events' });
  const start = async () => dataOf(await ann.post('/v1/ai/threads', body)).thread_id;
  const first = await start();
  expect(await start()).toBe(first);
  for await (const event of http.threads.stream(first)) if (event.type === 'run_completed') break;
  expect(await start()).not.toBe(first);
});
