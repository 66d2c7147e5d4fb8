/** A gateway on a real port, over a worker on the real server; two orgs with a member and an admin each. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import { apiKeyCheck } from '../../gateway/auth/api-key.js';
import type { Auth, TokenCheck } from '../../gateway/auth/authenticate.js';
import { createFileLinks } from '../../gateway/file-links.js';
import { createLog } from '../../gateway/log.js';
import type { GatewayOptions } from '../../gateway/create-gateway.js';
import { serveGateway } from '../../gateway/serve-gateway.js';
import type { RunningGateway } from '../../gateway/serve-gateway.js';
import { workerPolls } from '../../client/worker-polls.js';
import type { ApiKeys } from '../../store/api-keys.js';
import { recordsIn } from '../support/records.js';
import type { World } from '../support/world.js';

export const CATALOG: GatewayOptions['catalog'] = {
  agents: [
    { agent_id: 'test.node', model_profile: 'script', tools: [{ tool_id: 'test.tools.echo', description: 'Echo.' }] },
  ],
  model_profiles: [{ id: 'script', label: 'Script', description: 'A scripted model.', is_default: true }],
  policies: new Map(),
};

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, unknown>;
}

export interface Caller {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface GatewayWorld extends RunningGateway {
  log(): string;
  /** Without auth, or with the key or token that is given. */
  as(token?: string): Caller;
}

export async function serveFor(
  world: Pick<World, 'client' | 'temporal' | 'server' | 'artefacts' | 'storage'>,
  auth: Auth,
  extra: Partial<GatewayOptions> & { stopGraceMs?: number } = {},
): Promise<GatewayWorld> {
  let log = '';
  const records = await recordsIn(world.server.dataDir);
  const gateway = await serveGateway({
    runs: world.client.runs,
    threads: world.client.threads,
    records,
    artefacts: world.artefacts,
    payloads: world.storage.payloads,
    workerPolls: () => workerPolls(world.temporal, world.server.taskQueue),
    catalog: CATALOG,
    files: createFileLinks({ secret: randomBytes(32) }),
    auth,
    log: createLog({ write: (line) => void (log += line) }, 'trace'),
    host: '127.0.0.1',
    port: 0,
    endStreams: () => Promise.resolve(),
    ...extra,
  });
  const stop = async () => {
    await gateway.stop();
    await records.close();
  };
  return { ...gateway, stop, log: () => log, as: (token) => caller(gateway.url, token) };
}

export function caller(url: string, token?: string): Caller {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    extra: Record<string, string> = {},
  ): Promise<Answer> {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...extra,
    };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(url + path, { ...init, method, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : {}) as Record<string, unknown>,
    };
  }
  return {
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    call,
  };
}

export interface Orgs {
  auth: Auth & { kind: 'on' };
  keys: ApiKeys;
  /** Where their database is. */
  folder: string;
  /** Org names are made up, since all tests share one server. */
  acme: string;
  globex: string;
  /** Members ann and bob and the admin ada of acme; gus of globex. */
  ann: string;
  bob: string;
  ada: string;
  gus: string;
  /** Of whoever runs the gateway. */
  operator: string;
  remove(): Promise<void>;
}

export async function createOrgs(...others: TokenCheck[]): Promise<Orgs> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-keys-'));
  const { keys, close } = await recordsIn(folder);
  const [acme, globex] = [`acme-${randomUUID()}`, `globex-${randomUUID()}`];
  const profiles = ['agent_debug', 'user_chat'] as ['agent_debug', 'user_chat'];
  const make = async (org_id: string, user_id: string, role: 'member' | 'admin') =>
    (await keys.create({ org_id, user_id, role, profiles })).key;
  return {
    auth: { kind: 'on', checks: [apiKeyCheck(keys), ...others] },
    keys,
    folder,
    acme,
    globex,
    ann: await make(acme, 'ann', 'member'),
    bob: await make(acme, 'bob', 'member'),
    ada: await make(acme, 'ada', 'admin'),
    gus: await make(globex, 'gus', 'admin'),
    operator: (
      await keys.create({ org_id: acme, user_id: 'prometheus', role: 'member', profiles, scopes: ['metrics'] })
    ).key,
    async remove() {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function runPath(runId: string, rest = ''): string {
  return `/v1/runs/${encodeURIComponent(runId)}${rest}`;
}

/** What is left of a stream, whether it ends or is cut. */
export async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = '';
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += Buffer.from(part.value).toString();
    }
  } catch (error) {
    if (!(error instanceof TypeError && error.message === 'terminated')) throw error;
  }
  return text;
}
