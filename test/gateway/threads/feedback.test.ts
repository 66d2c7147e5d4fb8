/** Feedback on messages over a real gateway. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { recordsIn, withRecords } from '../../support/records.js';
import { script } from '../../support/test-agents.js';
import { until } from '../../support/world.js';
import { settled } from '../../threads/thread-world.js';
import { isDescribed } from '../agents/greeter.js';
import { serveFor } from '../gateway-world.js';
import { createThreadGateway, dataOf, refusalOf, THREAD_CATALOG } from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

let world: ThreadGateway['world'];
let orgs: ThreadGateway['orgs'];
let callers: ThreadGateway['callers'];
let stop: ThreadGateway['stop'];

beforeAll(async () => {
  ({ world, orgs, callers, stop } = await createThreadGateway());
});
afterAll(() => stop());

const good = { sentiment: 'positive', categories: ['helpful'] };
const kept = (threadId: string) => withRecords(world.server.dataDir, ({ feedback }) => feedback.list(threadId));
const path = (threadId: string, n: number | string) => `/v1/ai/threads/${threadId}/messages/${n}/feedback`;

async function start(turns: Parameters<typeof script>[0], visibility = 'org'): Promise<string> {
  // Else it would be the thread that the test before it has started, and not read.
  const title = randomUUID();
  return dataOf(await callers.ann.post('/v1/ai/threads', { messages: [script(turns)], visibility, title })).thread_id;
}

async function answered(visibility?: string): Promise<string> {
  const threadId = await start([{ text: 'Hello.' }], visibility);
  await settled(world.client.threads, threadId);
  return threadId;
}

describe('feedback', () => {
  it('is kept for each reader of a message, and a second one takes the place of the first', async () => {
    const threadId = await answered();
    const first = await callers.ann.post(path(threadId, 1), good);
    isDescribed('giveFeedback', first);
    const about = { thread_id: threadId, message_sequence_num: 1, org_id: orgs.acme };
    expect(first.body['data']).toMatchObject({ ...about, ...good, notes: null, created_by: 'ann', modified_by: 'ann' });
    const { feedback_id, created } = first.body['data'] as Record<string, unknown>;
    const worse = { sentiment: 'negative', categories: ['slow', 'other', 'slow'], notes: 'A minute.' };
    const second = await callers.ann.post(path(threadId, 1), worse);
    const replaced = { ...about, ...worse, categories: ['other', 'slow'], feedback_id, created };
    expect(second.body['data']).toMatchObject(replaced);
    expect(
      (await callers.bob.post(path(threadId, 1), { sentiment: 'positive', notes: '  ' })).body['data'],
    ).toMatchObject({
      created_by: 'bob',
      categories: [],
      notes: null,
    });
    expect((await kept(threadId)).map(({ created_by }) => created_by).toSorted()).toEqual(['ann', 'bob']);
  });

  it('is taken under the older path of threads too', async () => {
    const threadId = await answered();
    const answer = await callers.ann.post(path(threadId, 1).replace('threads', 'chats'), good);
    expect(answer.status).toBe(200);
  });

  it.each([
    ['no sentiment', { categories: [] }, 'sentiment'],
    ['a sentiment that is not known', { sentiment: 'mixed' }, 'sentiment'],
    ['a category that is not known', { sentiment: 'positive', categories: ['nice'] }, 'categories.0'],
    [
      'a category of the other side',
      { sentiment: 'positive', categories: ['slow'] },
      'categories: slow: not for positive',
    ],
    ['other without notes', { sentiment: 'negative', categories: ['other'], notes: ' ' }, 'notes: must say'],
    ['a field that is not known', { ...good, note: 'x' }, 'note'],
  ])('with %s is refused by its path', async (_what, body, named) => {
    const threadId = await answered();
    const [status, code, message] = refusalOf(await callers.ann.post(path(threadId, 1), body));
    expect([status, code]).toEqual([400, 'RobotoInvalidRequestException']);
    expect(message).toContain(named);
    expect(await kept(threadId)).toEqual([]);
  });

  it('on a message that is not there, not the assistant’s, or still being written, is refused', async () => {
    const threadId = await answered();
    for (const n of [2, 999, -1, '1e0', 'x']) {
      expect(refusalOf(await callers.ann.post(path(threadId, n), good)).slice(0, 2)).toEqual([
        404,
        'RobotoNotFoundException',
      ]);
    }
    const users = refusalOf(await callers.ann.post(path(threadId, 0), good));
    expect(users).toEqual([400, 'RobotoInvalidRequestException', expect.stringContaining('"user"')]);
    const writing = await start([{ text: 'And so on', hang: true }]);
    await until(async () => (await world.client.threads.get(writing)).messages.length === 2, 'the first words');
    const early = refusalOf(await callers.ann.post(path(writing, 1), good));
    expect(early).toEqual([400, 'RobotoInvalidRequestException', expect.stringContaining('still being written')]);
    await callers.ann.post(`/v1/ai/threads/${writing}/cancel`);
    expect([...(await kept(threadId)), ...(await kept(writing))]).toEqual([]);
  });

  it('on a thread that one may not read is refused as if there was none', async () => {
    const threadId = await answered('private');
    const foreign = refusalOf(await callers.bob.post(path(threadId, 1), good));
    expect(foreign).toEqual([404, 'RobotoNotFoundException', expect.stringContaining('no thread')]);
    expect(await kept(threadId)).toEqual([]);
  });

  it('goes with its thread, and what comes late leaves nothing', async () => {
    const threadId = await answered();
    await callers.ann.post(path(threadId, 1), good);
    await callers.bob.post(path(threadId, 1), good);
    expect(await kept(threadId)).toHaveLength(2);
    expect((await callers.ann.call('DELETE', `/v1/ai/threads/${threadId}`)).status).toBe(200);
    expect(await kept(threadId)).toEqual([]);
    expect(refusalOf(await callers.bob.post(path(threadId, 1), good))[0]).toBe(404);
    expect(await kept(threadId)).toEqual([]);
  });

  it('that is being written while its thread is deleted leaves nothing either', async () => {
    const records = await recordsIn(world.server.dataDir);
    onTestFinished(records.close);
    const { feedback } = records;
    const threadId = await answered();
    const late: typeof feedback = {
      ...feedback,
      async put(...args) {
        expect((await callers.ann.call('DELETE', `/v1/ai/threads/${threadId}`)).status).toBe(200);
        return feedback.put(...args);
      },
    };
    const slow = await serveFor(world, orgs.auth, { catalog: THREAD_CATALOG, records: { ...records, feedback: late } });
    try {
      expect(refusalOf(await slow.as(orgs.ann).post(path(threadId, 1), good))[0]).toBe(404);
      expect(await kept(threadId)).toEqual([]);
    } finally {
      await slow.stop();
    }
  });
});
