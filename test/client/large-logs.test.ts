/** Runs that have said much: their logs are read in one go once they have ended, and kept for the next reader. */
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../client/index.js';
import { LARGE_PAGE_BYTES } from '../../contract/sizes.js';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient } from '../../worker/create-worker.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
let other: ConnectedClient;
beforeAll(async () => {
  world = await createWorld(testConfig());
  other = await connectClient(world.server);
});
afterAll(async () => {
  await other.close();
  await world.end();
});

const OUTPUT_BYTES = 60_000;
const outputs = (count: number) => {
  const each = call('outputs.big', { bytes: OUTPUT_BYTES, ran: '/dev/null' });
  const turns = Array.from({ length: Math.ceil(count / 15) }, (_, n) => ({
    tool_calls: Array.from({ length: Math.min(15, count - n * 15) }, () => each),
  }));
  return script([...turns, { text: 'done' }]);
};

async function played(count: number): Promise<string> {
  const input = outputs(count);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
  await world.temporal.workflow.getHandle(run_id).result();
  return run_id;
}

/** How many pages this client asks for. A page that a busy machine is asked for again is one page. */
function countPages({ temporal }: Pick<ConnectedClient, 'temporal'>): () => number {
  const service = temporal.workflowService;
  const { queryWorkflow } = service;
  const asked = new Set<string>();
  service.queryWorkflow = ((...args: Parameters<typeof queryWorkflow>) => {
    asked.add(JSON.stringify(args[0].query));
    return queryWorkflow.apply(service, args);
  }) as typeof queryWorkflow;
  return () => asked.size;
}

describe('the log of a run that has ended', { timeout: 180_000 }, () => {
  it('is read with one query, however large, and with one at most by the next who asks', async () => {
    const run_id = await played(30);
    const pages = countPages(other);
    const log = durable(await collect(other.client.runs.stream(run_id)));
    expect(JSON.stringify(log).length).toBeGreaterThan(30 * OUTPUT_BYTES);
    expect(ofType(log, 'tool_result').every(({ content }) => content.length >= OUTPUT_BYTES)).toBe(true);
    expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
    expect(pages()).toBe(1);
    expect((await other.client.runs.get(run_id)).status).toBe('success');
    expect(durable(await collect(other.client.runs.stream(run_id, { follow: false })))).toEqual(log);
    expect(await other.client.runs.tail(run_id)).toBe(log.length);
    expect(pages()).toBeLessThanOrEqual(2);
  });

  it('is read in few queries by a client without external storage, as the one in the README', async () => {
    const run_id = await played(15);
    const whole = durable(await collect(other.client.runs.stream(run_id)));
    const connection = await Connection.connect(world.server.connection);
    const temporal = new Client({ connection });
    const plain = createClient({ client: temporal });
    const pages = countPages({ temporal });
    expect(durable(await collect(plain.runs.stream(run_id)))).toEqual(whole);
    const bytes = whole.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(JSON.stringify(event))), 0);
    expect(bytes).toBeGreaterThan(15 * OUTPUT_BYTES);
    expect(pages()).toBeLessThanOrEqual(Math.ceil((1.1 * bytes) / LARGE_PAGE_BYTES));
    await plain.close();
    await connection.close();
  });

  it('may have 20 MB', async () => {
    const run_id = await played(345);
    const log = durable(await collect(other.client.runs.stream(run_id)));
    expect(JSON.stringify(log).length).toBeGreaterThan(20 * 1024 * 1024);
    expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index));
    expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
    expect((await world.client.runs.get(run_id)).tail).toBe(log.length);
  });

  it('is taken into its thread', async () => {
    const { thread_id } = await world.client.threads.start({ agent_id: 'test.agent', messages: [outputs(15)] });
    await until(
      async () => (await world.client.threads.header(thread_id)).status === 'user_turn',
      'the turn to end',
      120_000,
    );
    const { messages } = await world.client.threads.get(thread_id);
    const results = messages.flatMap(({ content }) => content.filter((block) => block.content_type === 'tool_result'));
    expect(results).toHaveLength(15);
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'done' }] });
  });
});
