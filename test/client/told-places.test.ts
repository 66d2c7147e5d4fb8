/** Told runs that hold files and large pictures, and told runs that are taken up in the middle. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHttpClient } from '../../client/http/index.js';
import type { HttpClient, HttpRuns } from '../../client/http/index.js';
import { createClient } from '../../client/index.js';
import type { ContractEvent, Runs, TaskStepChunk } from '../../client/index.js';
import type { DurableEvent } from '../../contract/events.js';
import { defineTool } from '../../kit/index.js';
import { createTeller, linesOf, tellAll } from '../dialects/tell-all.js';
import { serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld } from '../gateway/gateway-world.js';
import { call, script } from '../support/test-agents.js';
import { child, treeConfig } from '../support/tree-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const LARGE = Buffer.alloc(100_000, 9);
const CONTENT = 'a,b\n1,2\n';

const draw = defineTool({
  tool_id: 'test.tools.draw',
  description: 'Draws.',
  input: z.object({}),
  async run(_input, { file }) {
    await file({ filename: 'table.csv', mime_type: 'text/csv', content: CONTENT });
    const url = `data:image/png;base64,${LARGE.toString('base64')}`;
    return [{ type: 'image_url' as const, image_url: { url, media_type: 'image/png' as const } }];
  },
});

const DIALECT_OF = { runStream: 'agent_events', contractStream: 'event_contract', stepStream: 'task_steps' } as const;
const METHODS = ['runStream', 'contractStream', 'stepStream'] as const;
const FLATTENED = { children: 'flattened' } as const;

let world: World;
let gateway: GatewayWorld;
let http: HttpClient;
let clients: { local: Runs; http: HttpRuns };
let drawn: DurableEvent[];
let plain: DurableEvent[];
let tree: DurableEvent[];
beforeAll(async () => {
  world = await createWorld(treeConfig({}, { tools: [draw] }));
  gateway = await serveFor(world, { kind: 'off' });
  http = createHttpClient({ url: gateway.url });
  clients = { local: world.client.runs, http: http.runs };
  const echo = call('tools.echo', { text: 'x' });
  const run = (turns: Parameters<typeof script>[0]) => world.run('test.node', script(turns));
  const drawing = [{ text: 'I draw.', tool_calls: [call('tools.draw', {}), echo] }, { text: 'Drawn.' }];
  const talking = [{ thinking: 'Hm.', text: 'Let me see.', tool_calls: [echo, echo] }, { text: 'Done.' }];
  const below = child([{ text: 'Below.', tool_calls: [echo] }, { text: 'Done below.' }]);
  [drawn, plain, tree] = await Promise.all([
    run(drawing),
    run(talking),
    run([{ tool_calls: [below] }, { text: 'Done.' }]),
  ]);
});
afterAll(async () => {
  await http.close();
  await gateway.stop();
  await world.end();
});

async function all<E>(events: AsyncIterable<E>): Promise<E[]> {
  const seen: E[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const idOf = (log: readonly DurableEvent[]) => log[0]?.run_id ?? '';
const fetched = async (url: string) => Buffer.from(await (await fetch(gateway.url + url)).arrayBuffer());

describe.each(['local', 'http'] as const)('over the %s client', (which) => {
  const runs = () => clients[which];

  it('runStream has a picture that is too large for the log', async () => {
    const events = await all(runs().runStream(idOf(drawn)));
    const [shot] = events.flatMap((event) =>
      event.type === 'tool_result' && event.tool === 'draw' ? [event.screenshot_base64] : [],
    );
    expect(shot === LARGE.toString('base64')).toBe(true);
  });

  it('contractStream has the file, by its address or as it is', async () => {
    const events: ContractEvent[] = await all(runs().contractStream(idOf(drawn)));
    const [file] = events.flatMap((event) => (event.type === 'generated_file' ? [event] : []));
    expect(file).toMatchObject({ filename: 'table.csv', mime_type: 'text/csv' });
    const content = which === 'http' ? await fetched(file?.url ?? '') : Buffer.from(file?.base64 ?? '', 'base64');
    expect(content.toString()).toBe(CONTENT);
  });

  it.each(METHODS)('%s tells from any event on what it tells of the rest', async (method) => {
    const lines = linesOf(tellAll(DIALECT_OF[method], plain));
    for (const { seq: from } of plain) {
      const rest = lines.filter(({ seq = 0 }) => seq >= from).map(({ data }) => data);
      expect(await all<unknown>(runs()[method](idOf(plain), { from })), `from ${from}`).toEqual(rest);
    }
    const end = plain.length - 4;
    expect(await all<unknown>(runs()[method](idOf(plain), { from: -4 }))).toEqual(
      lines.filter(({ seq = 0 }) => seq >= end).map(({ data }) => data),
    );
    expect(await all<unknown>(runs()[method](idOf(plain), { from: plain.length }))).toEqual([]);
    await expect(all<unknown>(runs()[method](idOf(plain), { from: plain.length + 1 }))).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`has written ${plain.length} events`) as string,
    });
  });

  it.each(METHODS)('%s of a run that failed throws also where it is taken up behind its end', async (method) => {
    const log = await world.run('test.node', script([{ fail: { code: 'model_unauthorized' } }]));
    const over = all<unknown>(runs()[method](idOf(log), { from: log.length }));
    if (method === 'contractStream') expect(await over).toEqual([]);
    else await expect(over).rejects.toMatchObject({ code: 'model_unauthorized' });
  });
});

describe('over the local client', () => {
  it.each(METHODS)('%s goes on from the cursor of a stream, also of a tree', async (method) => {
    const { runs } = world.client;
    for (const [log, how] of [[plain, {}] as const, [tree, FLATTENED] as const]) {
      const whole = await all<unknown>(runs[method](idOf(log), how));
      const stream = runs.stream(idOf(log), { ...how, rest_chunks: false });
      const teller = createTeller(DIALECT_OF[method]);
      let told = 0;
      for await (const event of stream) {
        told += linesOf(teller.tell(event)).length;
        const rest = await all<unknown>(runs[method](idOf(log), { ...how, cursor: stream.cursor() }));
        expect(rest, `after ${told}`).toEqual(whole.slice(told));
      }
      expect(told).toBe(whole.length);
    }
  });

  it('a file that the store has lost is a warning, and named all the same', async () => {
    const log = await world.run('test.node', script([{ tool_calls: [call('tools.draw', {})] }, { text: 'Drawn.' }]));
    const warnings: string[] = [];
    const away = () => Promise.reject(new Error('the bucket is away'));
    const place = { info: away, read: away, put: away };
    const artefacts = { of: () => place, unscoped: place, copy: away };
    const client = createClient({ client: world.temporal, artefacts });
    const onWarning = (message: string) => void warnings.push(message);
    const events = await all(client.runs.contractStream(idOf(log), { onWarning }));
    await client.close();
    expect(events.filter(({ type }) => type === 'generated_file')).toMatchObject([{ filename: 'table.csv' }]);
    expect(warnings).toEqual([expect.stringContaining('the bucket is away')]);
  });
});

describe('over HTTP', () => {
  it('stepStream has addresses of files and pictures, also where it is taken up behind them', async () => {
    const file = ofType(drawn, 'file_generated')[0]?.seq ?? 0;
    const result = ofType(drawn, 'tool_result').find(({ name }) => name === 'test.tools.draw')?.seq ?? 0;
    for (const from of [0, file + 1, result + 1]) {
      const chunks: TaskStepChunk[] = await all(clients.http.stepStream(idOf(drawn), { from }));
      const [step] = chunks.flatMap((chunk) => (chunk.type === 'step_final' ? [chunk.data] : []));
      const [kept] = (step?.metadata?.['files'] ?? []) as { url?: string }[];
      expect((await fetched(kept?.url ?? '')).toString(), `from ${from}`).toBe(CONTENT);
      const [picture] = (step?.parts ?? []).flatMap((part) =>
        part.type === 'tool_result' && Array.isArray(part.tool_result.result)
          ? (part.tool_result.result as { image_url: { url: string } }[])
          : [],
      );
      expect((await fetched(picture?.image_url.url ?? '')).equals(LARGE), `from ${from}`).toBe(true);
    }
  });

  it.each(METHODS)('%s goes on behind the last line that was read, also of a tree', async (method) => {
    for (const [log, how] of [[plain, {}] as const, [tree, FLATTENED] as const]) {
      const whole = await all<unknown>(clients.http[method](idOf(log), how));
      const stream = clients.http[method](idOf(log), how);
      for (let read = 1; (await stream.next()).done !== true; read++) {
        const rest = await all<unknown>(clients.http[method](idOf(log), { ...how, cursor: stream.cursor() }));
        expect(rest, `after ${read}`).toEqual(whole.slice(read));
      }
    }
  });
});
