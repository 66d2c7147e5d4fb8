/**
 * A thread that is sent more than it can take, or than may wait to be sent: whoever comes then gets 429 with a time to
 * wait, and whoever honours that loses nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_CODE_HEADER } from '../../../contract/errors.js';
import { createHeldUpdates } from '../../support/held-updates.js';
import type { HeldUpdates } from '../../support/held-updates.js';
import { script } from '../../support/test-agents.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { client_tools, settled, threadConfig } from '../../threads/thread-world.js';
import { createOrgs, serveFor } from '../gateway-world.js';
import type { Answer, Caller, GatewayWorld, Orgs } from '../gateway-world.js';
import { dataOf, PATIENT, refusalOf, said, startBody, THREAD_CATALOG, threadPath } from './thread-gateway.js';

const QUEUED = 4;
const WAITING = 3;
const SENDERS = 10;

let world: World;
let held: HeldUpdates;
let orgs: Orgs;
let gateway: GatewayWorld;
let ann: Caller;
beforeAll(async () => {
  world = await createWorld({ ...threadConfig(), threads: { queued_messages: QUEUED } });
  held = await createHeldUpdates(world, { waiting_messages: WAITING });
  orgs = await createOrgs();
  gateway = await serveFor({ ...world, client: held.client }, orgs.auth, { limits: PATIENT, catalog: THREAD_CATALOG });
  ann = gateway.as(orgs.ann);
});
afterAll(async () => {
  await gateway.stop();
  await held.close();
  await world.end();
  await orgs.remove();
});

/** Its first turn waits for a tool of the client. */
async function startThread(): Promise<string> {
  const look = { tool: 'client.declared.client_look', args: {} };
  const turns = [{ tool_calls: [look] }, ...Array.from({ length: SENDERS + 1 }, () => ({ text: 'ok' }))];
  const body = startBody([{ text: 'ok' }], { messages: [said(script(turns))], client_tools });
  const { thread_id } = dataOf(await ann.post('/v1/ai/threads', body));
  await settled(world.client.threads, thread_id);
  return thread_id;
}

const texts = Array.from({ length: SENDERS }, (_, n) => `message ${n}`);
const send = (threadId: string, text: string): Promise<Answer> =>
  ann.post(threadPath(threadId, '/messages'), { message: said(text), on_busy: 'enqueue' });

function timeToWait(answer: Answer): number {
  expect(refusalOf(answer).slice(0, 2)).toEqual([429, 'RobotoLimitExceededException']);
  expect(answer.headers.get(ERROR_CODE_HEADER)).toBe('rate_limited');
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  return seconds * 1_000;
}

async function sendPatiently(threadId: string, text: string, onRefusal: () => void): Promise<void> {
  for (let answer = await send(threadId, text); answer.status !== 200; answer = await send(threadId, text)) {
    const wait = timeToWait(answer);
    onRefusal();
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function endTurn(threadId: string): Promise<void> {
  const tool_results = [{ tool_use_id: 'turn_1_call_1_1', status: 'success' }];
  dataOf(await ann.post(threadPath(threadId, '/tool-results'), { tool_results }));
}

async function expectAllOnce(threadId: string): Promise<string[]> {
  const messages = async () =>
    (await world.client.threads.get(threadId)).messages
      .filter(({ role }) => role === 'user')
      .flatMap(({ content }) => content.flatMap((block) => (block.content_type === 'text' ? [block.text] : [])))
      .filter((text) => text.startsWith('message'));
  await until(async () => (await messages()).length >= SENDERS, 'all messages', 120_000);
  const { queued } = await world.client.threads.header(threadId);
  expect(queued).toBe(0);
  const found = await messages();
  expect(found.toSorted()).toEqual(texts.toSorted());
  return found;
}

describe('a thread', { timeout: 240_000 }, () => {
  it('in which as many messages wait as may takes the next ones when there is room again', async () => {
    const threadId = await startThread();
    let refused = 0;
    // One sender: the order is its own.
    const sending = (async () => {
      for (const text of texts) await sendPatiently(threadId, text, () => (refused += 1));
    })();
    await until(() => refused > 0, 'a refusal');
    expect((await world.client.threads.header(threadId)).queued).toBe(QUEUED);
    await endTurn(threadId);
    await sending;
    expect(await expectAllOnce(threadId)).toEqual(texts);
  });

  it('that is sent many at once takes those that waited here, and the others when they come back', async () => {
    const threadId = await startThread();
    await endTurn(threadId);
    await settled(world.client.threads, threadId);
    held.hold();
    let refused = 0;
    const sending = texts.map((text) => sendPatiently(threadId, text, () => (refused += 1)));
    // One is on its way, and so many wait for it.
    await until(() => refused >= SENDERS - 1 - WAITING, 'the refusals');
    held.letGo();
    await Promise.all(sending);
    await expectAllOnce(threadId);
  });
});
