/** Threads through a gateway: the client over HTTP gives what the one over Temporal gives. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createHttpClient } from '../../../client/http/index.js';
import type { HttpClient } from '../../../client/http/index.js';
import type { ThreadEvent } from '../../../client/index.js';
import { createOrgs, serveFor } from '../../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../../gateway/gateway-world.js';
import { call, script } from '../../support/test-agents.js';
import { treeConfig } from '../../support/tree-agents.js';
import { createWorld, durable, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { settled } from '../../threads/thread-world.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let client: HttpClient;
beforeAll(async () => {
  world = await createWorld(treeConfig());
  orgs = await createOrgs();
  gateway = await serveFor(world, { kind: 'off' });
  client = createHttpClient({ url: gateway.url });
});
afterAll(async () => {
  await client.close();
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const two = script([{ text: 'One.' }, { text: 'Two.' }]);

async function untilTurns(stream: AsyncIterable<ThreadEvent>, count: number): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  let ends = 0;
  for await (const event of stream) {
    events.push(event);
    if (event.type === 'run_completed' && ++ends === count) break;
  }
  return events;
}

describe('threads over HTTP', () => {
  it('are started, told something, streamed over their turns, read, renamed, forked and deleted', async () => {
    const { threads } = client;
    const started = await threads.start({ messages: [two] });
    const { thread_id } = started;
    const stream = threads.stream(thread_id);
    const first = await untilTurns(threads.stream(thread_id), 1);
    const sent = await threads.send(thread_id, { message: 'and?', on_busy: 'enqueue' }, { request_key: 'k' });
    expect(sent).toMatchObject({ thread_id });
    expect(await threads.send(thread_id, { message: 'and?', on_busy: 'enqueue' }, { request_key: 'k' })).toEqual(sent);
    const all = await untilTurns(stream, 2);
    const log = [...(await world.logOf(`${thread_id}/turn_1`)), ...(await world.logOf(`${thread_id}/turn_2`))];
    const kept = (events: ThreadEvent[]) => durable(events.filter((event) => event.type !== 'thread_ended'));
    expect(kept(all)).toEqual(log);
    expect(kept(await untilTurns(threads.stream(thread_id, { from: 2 }), 1))).toEqual(log.slice(kept(first).length));
    await settled(world.client.threads, thread_id);
    expect(await threads.get(thread_id)).toMatchObject({ thread_id, messages: [{}, {}, {}, {}] });
    expect(await threads.state(thread_id)).toEqual({
      thread_id,
      agent_id: 'test.node',
      title: expect.any(String) as string,
      status: 'waiting_for_you',
      turns: 2,
      visibility: 'private',
      created_at: started.created,
      queued: 0,
      counter: expect.any(Number) as number,
    });
    await threads.rename(thread_id, 'A talk');
    expect((await threads.state(thread_id)).title).toBe('A talk');
    const fork = await threads.fork(thread_id, { message_sequence_num: 1 });
    expect(fork).toMatchObject({ forked_from_thread_id: thread_id, messages: [{}, {}] });
    const waiting = threads.stream(thread_id, { from: 2 });
    for (let type = ''; type !== 'run_completed';) type = ((await waiting.next()).value as ThreadEvent).type;
    const next = waiting.next();
    await threads.delete(thread_id);
    expect((await next).value).toMatchObject({ type: 'thread_ended', thread_id, reason: 'deleted' });
    expect(await waiting.next()).toEqual({ done: true, value: undefined });
    await expect(threads.state(thread_id)).rejects.toMatchObject({ code: 'unknown_thread', http_status: 404 });
  });

  it('have a turn that goes on, can be canceled, and refuse what comes in between, by its own code', async () => {
    const { threads } = client;
    const { thread_id } = await threads.start({
      agent_id: 'test.node',
      messages: [script([{ text: 'I begin', hang: true }])],
    });
    for await (const event of threads.stream(thread_id)) if (event.type === 'text_chunk') break;
    expect(await threads.state(thread_id)).toMatchObject({ open_run_id: `${thread_id}/turn_1`, turns: 1 });
    await expect(threads.send(thread_id, { message: 'x' })).rejects.toMatchObject({
      code: 'thread_busy',
      http_status: 409,
    });
    expect(await threads.cancel(thread_id)).toEqual({ thread_id, run_id: `${thread_id}/turn_1` });
    await expect(threads.start({ agent_id: 'test.nobody' })).rejects.toMatchObject({ code: 'unknown_agent' });
  });

  it('take results of client tools', async () => {
    const { threads } = client;
    const client_tools = [{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }];
    const turns = [{ tool_calls: [{ ...call('x', {}), tool: 'client.declared.client_look' }] }, { text: 'Seen.' }];
    const { thread_id } = await threads.start({ agent_id: 'test.node', messages: [script(turns)], client_tools });
    const events: ThreadEvent[] = [];
    for await (const event of threads.stream(thread_id)) {
      events.push(event);
      if (event.type === 'await_external_tools') {
        const { messages } = await threads.get(thread_id);
        const use = messages.flatMap(({ content }) => content).find((block) => block.content_type === 'tool_use');
        const tool_use_id = use?.content_type === 'tool_use' ? use.tool_use_id : '';
        await threads.submitToolResults(thread_id, {
          tool_results: [{ tool_use_id, status: 'success', output: 'a cat' }],
          answered_by: 'somebody who looked',
        });
      }
      if (event.type === 'run_completed') break;
    }
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', answer: 'Seen.' });
    const resolved = events.find(({ type }) => type === 'await_resolved');
    expect(resolved).toMatchObject({ answered_by: 'somebody who looked' });
  });

  it('go on over a restart of the gateway, and say that it was away', async () => {
    const { thread_id } = await client.threads.start({ messages: [two] });
    await settled(world.client.threads, thread_id);
    const first = await serveFor(world, { kind: 'off' });
    const port = Number(new URL(first.url).port);
    const news: string[] = [];
    const other = createHttpClient({ url: first.url, onConnection: (state, why) => void news.push(`${state} ${why}`) });
    onTestFinished(() => other.close());
    const reading = untilTurns(other.threads.stream(thread_id), 2);
    await client.threads.get(thread_id);
    await first.stop();
    await until(() => news.length > 0, 'the news that it is away');
    const second = await serveFor(world, { kind: 'off' }, { port } as object);
    onTestFinished(() => second.stop());
    await client.threads.send(thread_id, { message: 'and?' });
    const log = [...(await world.logOf(`${thread_id}/turn_1`)), ...(await world.logOf(`${thread_id}/turn_2`))];
    expect(durable((await reading) as never)).toEqual(log);
    expect(news).toEqual([
      expect.stringMatching(/^lost the gateway at .* gave no answer: nothing listens there/),
      'back ',
    ]);
  });
});

describe('where a thread stands', () => {
  it.each([
    ['private', { ann: 200, bob: 404, ada: 200, gus: 404 }],
    ['org', { ann: 200, bob: 200, ada: 200, gus: 404 }],
  ] as const)('is told to whoever may read it: %s', async (visibility, wanted) => {
    const guarded = await serveFor(world, orgs.auth);
    onTestFinished(() => guarded.stop());
    const owner = { org_id: orgs.acme, created_by: 'ann', visibility };
    const { thread_id } = await world.client.threads.start({ agent_id: 'test.node', messages: [two], ...owner });
    for (const [name, status] of Object.entries(wanted)) {
      const answer = await guarded.as(orgs[name as keyof typeof wanted]).get(`/v1/threads/${thread_id}`);
      expect([name, answer.status]).toEqual([name, status]);
      expect(answer.headers.get('perdure-error-code')).toBe(status === 200 ? null : 'unknown_thread');
    }
    expect((await guarded.as().get(`/v1/threads/${thread_id}`)).status).toBe(401);
  });
});
