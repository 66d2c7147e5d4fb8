/** The codec endpoint: Temporal's UI and command show plain text to those who may read everything. */
import type { Payload } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEST_KEYS } from '../support/test-keys.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { script, testConfig } from '../support/test-agents.js';
import { createOrgs, serveFor } from './gateway-world.js';
import type { GatewayWorld, Orgs } from './gateway-world.js';

const UI = 'http://temporal-ui.example';
const CANARY = 'a canary that nobody else may read';

let world: World;
let gateway: GatewayWorld;
let orgs: Orgs;
let operator = '';

interface Wire {
  metadata: Record<string, string>;
  data: string;
}

beforeAll(async () => {
  const keys = TEST_KEYS.slice(0, 1);
  world = await createWorld(testConfig(), { storage: { keys } });
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { origins: [UI] });
  const { key } = await orgs.keys.create({
    org_id: orgs.acme,
    user_id: 'operator',
    role: 'member',
    profiles: ['metrics'],
    scopes: ['codec'],
  });
  operator = key;
});
afterAll(async () => {
  await gateway.stop();
  await orgs.remove();
  await world.end();
});

/** The input of a run as Temporal has it. */
async function inputOf(text: string): Promise<Wire[]> {
  const { run_id } = await world.client.runs.start({ agent_id: 'test.bare', input: script([{ text }]) });
  await world.logOf(run_id);
  const { events } = await world.temporal.workflow.getHandle(run_id).fetchHistory();
  const [started] = events ?? [];
  return (started?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []).map(toWire);
}

function toWire({ metadata, data }: Payload): Wire {
  const base64 = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
  return {
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
    data: base64(data),
  };
}

const plain = (payload: Wire | undefined) => Buffer.from(payload?.data ?? '', 'base64').toString('utf8');
/** As it is, or in the base64 of a payload. */
const tells = (text: string) =>
  [text, ...(text.match(/[A-Za-z\d+/]{8,}={0,2}/g) ?? []).map((data) => plain({ metadata: {}, data }))].some((each) =>
    each.includes('canary'),
  );

describe('POST /v1/codec/decode', () => {
  it('gives the plain payloads of a run, in order, as Temporal’s own JSON has them', async () => {
    const payloads = await inputOf(CANARY);
    expect(plain(payloads[0])).not.toContain('canary');
    const answer = await gateway.as(operator).post('/v1/codec/decode', { payloads: [...payloads, ...payloads] });
    expect(answer.status, answer.text).toBe(200);
    // That this is found shows that it would be where it may not be.
    expect(tells(answer.text)).toBe(true);
    const { payloads: decoded } = answer.body as unknown as { payloads: Wire[] };
    expect(decoded.map(plain)).toEqual([expect.stringContaining(CANARY), expect.stringContaining(CANARY)]);
    expect(Buffer.from(decoded[0]?.metadata['encoding'] ?? '', 'base64').toString()).toBe('json/plain');
  });

  it('brings back what left history for its size', async () => {
    const payloads = await inputOf(`${CANARY} ${'x'.repeat(300_000)}`);
    expect(JSON.stringify(payloads).length).toBeLessThan(2_000);
    const answer = await gateway.as(operator).post('/v1/codec/decode', { payloads });
    const { payloads: decoded } = answer.body as unknown as { payloads: Wire[] };
    expect(plain(decoded[0])).toContain(CANARY);
  });

  it('passes what is plain already', async () => {
    const payload = { metadata: { encoding: Buffer.from('json/plain').toString('base64') }, data: 'IngiCg==' };
    const answer = await gateway.as(operator).post('/v1/codec/decode', { payloads: [payload] });
    expect(answer.body).toEqual({ payloads: [payload] });
  });

  it('names the key that is missing', async () => {
    const [payload] = await inputOf(CANARY);
    const metadata = { ...payload?.metadata, 'encryption-key-id': Buffer.from('k0').toString('base64') };
    const answer = await gateway.as(operator).post('/v1/codec/decode', { payloads: [{ ...payload, metadata }] });
    expect([answer.status, answer.body['error']]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining('the encryption key "k0" is not known here') }),
    ]);
  });

  it.each(['{"driverName":', '', 'null', '7', '{"driverName":"perdure-files","claimData":"x"}', '{"driverName":7}'])(
    'takes what calls itself a reference and is none, %j, for what it is',
    async (text) => {
      const base64 = (value: string) => Buffer.from(value).toString('base64');
      const metadata = {
        encoding: base64('json/protobuf'),
        messageType: base64('temporal.api.sdk.v1.ExternalStorageReference'),
      };
      const payloads = [{ metadata, data: base64(text) }];
      const answer = await gateway.as(operator).post('/v1/codec/decode', { payloads });
      expect([200, 400]).toContain(answer.status);
      if (answer.status === 200) expect(answer.body).toEqual({ payloads });
    },
  );

  it.each([{}, { payloads: 'x' }, { payloads: [{ data: 7 }] }, { payloads: [{ data: 'not base64 …' }] }])(
    'refuses %j',
    async (body) => {
      const answer = await gateway.as(operator).post('/v1/codec/decode', body);
      expect([answer.status, answer.body['error']]).toEqual([
        400,
        expect.objectContaining({ code: 'invalid_request' }),
      ]);
    },
  );

  it('is for nobody else: no member, no admin, nobody without a credential', async () => {
    const payloads = await inputOf(CANARY);
    for (const token of [orgs.ann, orgs.ada, orgs.gus, orgs.operator]) {
      const answer = await gateway.as(token).post('/v1/codec/decode', { payloads });
      expect([answer.status, tells(answer.text)]).toEqual([403, false]);
      expect((await gateway.as(token).post('/v1/codec/encode', { payloads })).status).toBe(403);
    }
    for (const path of ['/v1/codec/decode', '/v1/codec/encode']) {
      const answer = await gateway.as().post(path, { payloads });
      expect([answer.status, tells(answer.text)]).toEqual([401, false]);
    }
  });

  it('lets a page of Temporal’s UI ask, and no other', async () => {
    const ask = (origin: string) =>
      fetch(`${gateway.url}/v1/codec/decode`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type,x-namespace',
        },
      });
    const answer = await ask(UI);
    expect(answer.headers.get('access-control-allow-origin')).toBe(UI);
    expect(answer.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('x-namespace');
    const payloads = await inputOf(CANARY);
    const foreign = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
    const refused = await gateway.as(operator).post('/v1/codec/decode', { payloads }, foreign);
    expect([refused.status, tells(refused.text)]).toEqual([403, false]);
    // Where no browser says that the page is foreign, the answer has nothing that would let one show it to the page.
    const unsaid = await gateway.as(operator).post('/v1/codec/decode', { payloads }, { origin: 'http://evil.example' });
    expect(unsaid.headers.get('access-control-allow-origin')).toBeNull();
    const page = { origin: UI, 'sec-fetch-site': 'cross-site', 'x-namespace': 'default' };
    const taken = await gateway.as(operator).post('/v1/codec/decode', { payloads }, page);
    expect(taken.status).toBe(200);
    expect(taken.headers.get('access-control-allow-origin')).toBe(UI);
  });
});

describe('POST /v1/codec/encode', () => {
  it('gives what /decode takes, and a run can be started with', async () => {
    const input = JSON.stringify({ agent_id: 'test.bare', input: script([{ text: CANARY }]) });
    const payload = {
      metadata: { encoding: Buffer.from('json/plain').toString('base64') },
      data: Buffer.from(input).toString('base64'),
    };
    const answer = await gateway.as(operator).post('/v1/codec/encode', { payloads: [payload] });
    expect(answer.status, answer.text).toBe(200);
    expect(tells(answer.text)).toBe(false);
    const back = await gateway.as(operator).post('/v1/codec/decode', answer.body);
    expect(back.body).toEqual({ payloads: [payload] });
  });
});
