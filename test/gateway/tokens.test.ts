/** JSON Web Tokens, against a key set that is published over a real socket. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jwtCheck } from '../../gateway/auth/jwt.js';
import { treeConfig } from '../support/tree-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { script } from '../support/test-agents.js';
import { ownProfiles } from '../../contract/own-profiles.js';
import { CATALOG, createOrgs, runPath, serveFor } from './gateway-world.js';
import type { GatewayWorld, Orgs } from './gateway-world.js';

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let jwks: Server;
let own: Keys;
let stranger: Keys;
let fetches = 0;
const SUPPORT = { kinds: { run_completed: 'include', text_end: 'include' } } as const;
const issuer = 'https://issuer.example';
const audience = 'perdure';

beforeAll(async () => {
  own = await generateKeyPair('RS256');
  stranger = await generateKeyPair('RS256');
  const key = { ...(await exportJWK(own.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  jwks = createServer((_request, response) => {
    fetches += 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [key] }));
  });
  await new Promise<void>((resolve) => jwks.listen(0, '127.0.0.1', resolve));
  world = await createWorld(treeConfig());
  const { port } = jwks.address() as AddressInfo;
  const claims = { role: 'https://perdure.example/role' };
  orgs = await createOrgs(jwtCheck({ jwks_url: `http://127.0.0.1:${port}/keys`, issuer, audience, claims }));
  gateway = await serveFor(world, orgs.auth);
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
  jwks.close();
});

interface Token {
  claims?: JWTPayload;
  kid?: string;
  key?: Parameters<SignJWT['sign']>[0];
  alg?: string;
  expires?: string | null;
}

function token({ claims = {}, kid = 'k1', key = own.privateKey, alg = 'RS256', expires = '5m' }: Token = {}) {
  const payload = { sub: 'ann', org_id: orgs.acme, iss: issuer, aud: audience, ...claims };
  const jwt = new SignJWT(payload).setProtectedHeader({ alg, kid }).setIssuedAt();
  if (expires !== null) jwt.setExpirationTime(expires);
  return jwt.sign(key);
}

describe('a token', () => {
  it('that is good is a user of its org, with the least role and profile', async () => {
    const me = gateway.as(await token());
    const body = { agent_id: 'test.node', input: script([{ text: 'hello' }]) };
    const started = await me.post('/v1/runs', body);
    expect(started.status, started.text).toBe(201);
    const runId = String(started.body['run_id']);
    expect(await world.client.runs.describe(runId)).toMatchObject({ org_id: orgs.acme, created_by: 'ann' });
    await world.logOf(runId);
    expect((await me.get(runPath(runId))).body).toMatchObject({ answer: 'hello' });
    expect((await me.get(runPath(runId, '?profile=agent_debug'))).status).toBe(403);
    expect((await me.get('/metrics')).status).toBe(403);
    // The same person by an API key.
    expect((await gateway.as(orgs.ann).get(runPath(runId))).status).toBe(200);
    expect((await gateway.as(orgs.gus).get(runPath(runId))).status).toBe(404);
  });

  it('says role and profiles by the claims that the configuration names', async () => {
    const claims = { 'https://perdure.example/role': 'admin', profiles: ['metrics', 'agent_debug'] };
    const me = gateway.as(await token({ claims }));
    expect((await me.get('/metrics')).status).toBe(403);
    expect((await me.get(runPath('x', '?profile=user_chat'))).status).toBe(404);
  });

  it('may name a stream profile of the application’s own, where the gateway has it', async () => {
    const catalog = { ...CATALOG, profiles: ownProfiles({ support: SUPPORT }) };
    const other = await serveFor(world, orgs.auth, { catalog });
    const mine = await token({ claims: { profiles: ['support'] } });
    const started = await other
      .as(mine)
      .post('/v1/runs', { agent_id: 'test.node', input: script([{ text: 'hello' }]) });
    const runId = String(started.body['run_id']);
    await world.logOf(runId);
    const { text } = await other.as(mine).get(runPath(runId, '/events?follow=false'));
    const types = text.split('\n').flatMap((line) => /"type":"(\w+)"/.exec(line)?.[1] ?? []);
    await other.stop();
    expect(types).toEqual(['text_end', 'run_completed']);
    expect((await gateway.as(mine).get('/v1/agents')).status).toBe(401);
  });

  it.each([
    ['a text', 'openid metrics email runs:read'],
    ['a list', ['openid', 'metrics', 'runs:read']],
  ])('says what it may do by its scope, as %s, among names of others', async (_form, scope) => {
    const me = gateway.as(await token({ claims: { scope } }));
    expect((await me.get('/metrics')).status).toBe(200);
    expect((await me.get('/v1/runs')).status).toBe(200);
    expect((await me.post('/v1/runs', { agent_id: 'test.node', input: 'x' })).status).toBe(403);
  });

  it('may do what its role may, where its scope names nothing of ours', async () => {
    const me = gateway.as(await token({ claims: { scope: 'openid email' } }));
    expect((await me.get('/v1/runs')).status).toBe(200);
    expect((await me.get('/metrics')).status).toBe(403);
  });

  const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bad: Record<string, () => Promise<string> | string> = {
    expired: () => token({ expires: '-1m' }),
    'without an expiry': () => token({ expires: null }),
    'not yet valid': () => token({ claims: { nbf: Math.floor(Date.now() / 1_000) + 600 } }),
    'of another issuer': () => token({ claims: { iss: 'https://evil.example' } }),
    'for another audience': () => token({ claims: { aud: 'something-else' } }),
    'with the algorithm none': () =>
      new UnsecuredJWT({ sub: 'ann', org_id: orgs.acme })
        .setIssuer(issuer)
        .setAudience(audience)
        .setExpirationTime('5m')
        .encode(),
    'signed HS256 with the public key': async () =>
      token({ alg: 'HS256', key: new TextEncoder().encode(await exportSPKI(own.publicKey)) }),
    'with a key id that is not known': () => token({ kid: 'k2' }),
    'signed by a stranger under a known key id': () => token({ key: stranger.privateKey }),
    'whose payload was changed': async () => {
      const [head, , signature] = (await token()).split('.');
      return [head, b64({ sub: 'ada', org_id: orgs.acme, iss: issuer, aud: audience, exp: 4e9 }), signature].join('.');
    },
    'without an org': () => token({ claims: { org_id: undefined } }),
    'with an org that could be read as something else': () => token({ claims: { org_id: "a' OR 1=1" } }),
    'with a role that does not exist': () => token({ claims: { 'https://perdure.example/role': 'root' } }),
    'with a profile that does not exist': () => token({ claims: { profiles: ['everything'] } }),
    'with a scope that looks like ours and is none': () => token({ claims: { scope: 'runs:everything' } }),
    'with roles that are no names': () => token({ claims: { roles: ['a b'] } }),
    'that is three words': () => 'a.b.c',
  };
  it.each(Object.entries(bad))('%s is refused', async (_what, make) => {
    const { status, body, text } = await gateway.as(await make()).get('/v1/agents');
    expect([status, (body['error'] as { code: string }).code]).toEqual([401, 'unauthenticated']);
    expect(text).not.toMatch(/signature|JWS|kid|alg/);
  });

  it('is checked with a key set that is not fetched for every request', async () => {
    const before = fetches;
    for (let n = 0; n < 5; n++) expect((await gateway.as(await token()).get('/v1/agents')).status).toBe(200);
    expect(fetches - before).toBeLessThanOrEqual(1);
  });
});

describe('the key set', () => {
  it('that cannot be fetched is our trouble and not the caller’s', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const check = jwtCheck({ jwks_url: `http://127.0.0.1:${port}/`, issuer, audience });
    const other = await serveFor(world, { kind: 'on', checks: [check] });
    const answer = await other.as(await token()).get('/v1/agents');
    await other.stop();
    expect(answer.status).toBe(503);
    expect(answer.text).not.toContain(String(port));
    expect(other.log()).toContain('server_unreachable');
  });

  it.each(['http://issuer.example/keys', 'ftp://x', 'keys'])('must not come from %s', (jwks_url) => {
    expect(() => jwtCheck({ jwks_url, issuer, audience })).toThrow(/no https URL/);
  });
});
