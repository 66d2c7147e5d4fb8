/**
 * Many messages to one thread at once. What does not fit is refused at once with a time to wait, never with an error of
 * ours, never as a thread that is not there; and whoever waits as asked gets everything in, once, in its order.
 * PERDURE_STORM asks for more messages.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script } from '../../support/test-agents.js';
import { until } from '../../support/world.js';
import type { Answer } from '../gateway-world.js';
import { createThreadGateway, dataOf, said, startBody, threadPath } from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

const MESSAGES = Number(process.env['PERDURE_STORM'] ?? 100);
const CLIENTS = 50;

let world: ThreadGateway;
beforeAll(async () => {
  world = await createThreadGateway();
});
afterAll(() => world.stop());

/** Turns that say nothing of interest, as many as there will be. */
const answers = (count: number) => Array.from({ length: count }, () => ({ text: 'ok' }));

async function startThread(turns: number): Promise<string> {
  const start = await world.callers.ann.post(
    '/v1/ai/threads',
    startBody([{ text: 'ok' }], { messages: [said(script(answers(turns)))] }),
  );
  return dataOf(start).thread_id;
}

const send = (threadId: string, text: string, on_busy: string): Promise<Answer> =>
  world.callers.ann.post(threadPath(threadId, '/messages'), { message: said(text), on_busy });

/** As a client does that honours what it is told. Gives all statuses that it was answered with. */
async function sendPatiently(threadId: string, text: string, on_busy: string): Promise<number[]> {
  const statuses: number[] = [];
  for (;;) {
    const answer = await send(threadId, text, on_busy);
    statuses.push(answer.status);
    if (answer.status !== 429) return statuses;
    const wait = Number(answer.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, wait * 1_000));
  }
}

async function messagesOf(threadId: string): Promise<string[]> {
  const { messages } = await world.world.client.threads.get(threadId);
  return messages.flatMap(({ role, content }) =>
    role === 'user' && content[0]?.content_type === 'text' ? [content[0].text] : [],
  );
}

/** However long it takes, as long as one turn ends after another. */
async function expectRest(threadId: string): Promise<void> {
  const { threads } = world.world.client;
  let isAtRest = false;
  while (!isAtRest) {
    const before = await threads.header(threadId);
    await until(
      async () => {
        const { turn, queued, turns } = await threads.header(threadId);
        isAtRest = turn === undefined && queued === 0;
        return isAtRest || turns > before.turns;
      },
      `the next turn of the thread after ${before.turns}`,
      120_000,
    );
  }
}

describe('a storm of messages', { timeout: 300_000 + MESSAGES * 3_000 }, () => {
  it('that all come at once are taken, each once, or refused with a time to wait', async () => {
    const threadId = await startThread(MESSAGES + 1);
    const texts = Array.from({ length: MESSAGES }, (_, n) => `message ${n}`);
    const statuses = (await Promise.all(texts.map((text) => sendPatiently(threadId, text, 'enqueue')))).flat();
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect(statuses.filter((status) => status === 200)).toHaveLength(MESSAGES);
    await expectRest(threadId);
    const [, ...said_] = await messagesOf(threadId);
    expect([...said_].sort()).toEqual([...texts].sort());
  });

  it('of clients that say one thing after another keeps the order of each', async () => {
    const threadId = await startThread(MESSAGES + 1);
    const each = Math.ceil(MESSAGES / CLIENTS);
    const all = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        const statuses: number[] = [];
        for (let n = 0; n < each; n++)
          statuses.push(...(await sendPatiently(threadId, `client ${client} says ${n}`, 'enqueue')));
        return statuses;
      }),
    );
    expect(all.flat().filter((status) => status !== 200 && status !== 429)).toEqual([]);
    await expectRest(threadId);
    const [, ...texts] = await messagesOf(threadId);
    expect(texts).toHaveLength(each * CLIENTS);
    for (let client = 0; client < CLIENTS; client++) {
      const own = texts.filter((text) => text.startsWith(`client ${client} says`));
      expect(own).toEqual(Array.from({ length: each }, (_, n) => `client ${client} says ${n}`));
    }
  });

  it('that each interrupt what goes on leaves the thread at rest, with all of them in it', async () => {
    const count = Math.ceil(MESSAGES / 4);
    const threadId = await startThread(count + 1);
    const texts = Array.from({ length: count }, (_, n) => `interrupt ${n}`);
    const statuses = (await Promise.all(texts.map((text) => sendPatiently(threadId, text, 'interrupt')))).flat();
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    await expectRest(threadId);
    const [, ...said_] = await messagesOf(threadId);
    expect([...said_].sort()).toEqual([...texts].sort());
  });
});
