/** Addresses of files that a browser can open: signed, for a while, for that file alone. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createFileLinks } from '../../gateway/file-links.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, runPath, serveFor } from './gateway-world.js';
import type { GatewayWorld, Orgs } from './gateway-world.js';

const HOUR = 3_600_000;
const secret = randomBytes(32);
const publicUrl = 'https://agents.example/perdure';

const make = defineTool({
  tool_id: 'test.files.make',
  description: 'Makes files.',
  input: z.object({ content: z.string() }),
  async run({ content }, { file }) {
    await file({ filename: 'page.html', mime_type: 'text/html', content });
    return 'made';
  },
});

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let other: GatewayWorld;
let clock = Date.now();

beforeAll(async () => {
  const agents = [defineAgent({ agent_id: 'test.node', instructions: 'Follow the script.', tools: [make] })];
  world = await createWorld({ ...testConfig(), agents });
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { files: createFileLinks({ secret, publicUrl, now: () => clock }) });
  other = await serveFor(world, orgs.auth, { files: createFileLinks({ secret }) });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await other.stop();
  await world.end();
  await orgs.remove();
});

async function made(content: string, by = orgs.ann) {
  const input = script([{ tool_calls: [call('files.make', { content })] }, { text: 'done' }]);
  const { body } = await gateway.as(by).post('/v1/runs', { agent_id: 'test.node', input });
  const run_id = String(body['run_id']);
  const [file] = ofType(await world.logOf(run_id), 'file_generated');
  return { run_id, file_id: file?.file_id ?? '' };
}

const filesIn = async (at: GatewayWorld, runId: string, query = 'dialect=event_contract') =>
  (await at.as(orgs.ann).get(runPath(runId, `/events?follow=false&${query}`))).text
    .split('\n')
    .filter((line) => line.includes('"generated_file"'))
    .map((line) => JSON.parse(line) as { url: string; base64?: string });

/** Where the gateway of the test is, in the place of its public address. */
const here = (url: string, at = gateway) => at.url + url.replace(publicUrl, '');
const open = async (url: string) => {
  const response = await fetch(url);
  const text = await response.text();
  const code = text.startsWith('{') ? (JSON.parse(text) as { error?: { code: string } }).error?.code : undefined;
  return { status: response.status, text, code, headers: response.headers };
};

describe('the address of a file', () => {
  it('is absolute, opens without a credential, and is a download of safe headers', async () => {
    const { run_id } = await made('<script>alert(1)</script>');
    const [line] = await filesIn(gateway, run_id);
    expect(line?.url).toMatch(/^https:\/\/agents\.example\/perdure\/v1\/files\//);
    expect(line).not.toHaveProperty('base64');
    const { status, text, headers } = await open(here(line?.url ?? ''));
    expect([status, text]).toEqual([200, '<script>alert(1)</script>']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': expect.stringMatching(/^attachment; filename="page.html"/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'referrer-policy': 'no-referrer',
    });
  });

  it('is the same for all who ask within its time, at any gateway that has the key', async () => {
    const { run_id } = await made('shared');
    const [one] = await filesIn(gateway, run_id);
    const [again] = await filesIn(gateway, run_id);
    expect(again?.url).toBe(one?.url);
    const [relative] = await filesIn(other, run_id);
    expect(relative?.url).toMatch(/^\/v1\/files\//);
    expect((await open(other.url + (relative?.url ?? ''))).text).toBe('shared');
    expect((await open(here(relative?.url ?? ''))).text).toBe('shared');
  });

  it('is in the steps of a run as well', async () => {
    const { run_id } = await made('in steps');
    const { text } = await gateway.as(orgs.ann).get(runPath(run_id, '/steps'));
    const url = /"url":"([^"]+)"/.exec(text)?.[1] ?? '';
    expect((await open(here(url))).text).toBe('in steps');
  });

  it('ends with its time', async () => {
    const { run_id } = await made('for a while');
    const [line] = await filesIn(gateway, run_id);
    const before = clock;
    clock += HOUR / 2;
    expect((await open(here(line?.url ?? ''))).status).toBe(200);
    clock += 2 * HOUR;
    expect(await open(here(line?.url ?? ''))).toMatchObject({ status: 403, code: 'link_refused' });
    clock = before;
  });

  it('opens nothing once anything in it was changed', async () => {
    const { run_id } = await made('one');
    const another = await made('another');
    const [line] = await filesIn(gateway, run_id);
    const url = new URL(line?.url ?? '');
    const changed = (change: (to: URL) => void) => {
      const copy = new URL(url);
      change(copy);
      return here(copy.href);
    };
    const [, , , , run, artefact] = url.pathname.split('/');
    const cases = {
      later: changed((to) => to.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 3_600))),
      'another file': changed((to) => (to.pathname = url.pathname.replace(artefact ?? '', another.file_id))),
      'another run': changed(
        (to) => (to.pathname = url.pathname.replace(run ?? '', encodeURIComponent(another.run_id))),
      ),
      'another org': changed((to) => to.searchParams.set('org', orgs.globex)),
      'no org': changed((to) => to.searchParams.delete('org')),
      'another signature': changed((to) => to.searchParams.set('signature', 'A'.repeat(43))),
      'no signature': changed((to) => to.searchParams.delete('signature')),
      'half a signature': changed((to) => to.searchParams.set('signature', 'x')),
    };
    for (const [what, address] of Object.entries(cases)) {
      const { status, text } = await open(address);
      expect([403, 400].includes(status), `${what}: ${status}`).toBe(true);
      expect(text, what).not.toMatch(/^(one|another)$/);
    }
    expect((await open(here(url.href))).text).toBe('one');
  });

  it('of another key is refused, also where the file is there', async () => {
    const { run_id, file_id } = await made('mine');
    const foreign = createFileLinks({ secret: randomBytes(32), now: () => clock });
    expect((await open(gateway.url + foreign.urlOf(run_id, file_id, orgs.acme))).status).toBe(403);
    const own = createFileLinks({ secret, now: () => clock });
    expect((await open(gateway.url + own.urlOf(run_id, file_id, orgs.acme))).text).toBe('mine');
    // Signed for an org that the run is not of, or for what the run does not name.
    expect((await open(gateway.url + own.urlOf(run_id, file_id, orgs.globex))).code).toBe('unknown_artefact');
    expect((await open(gateway.url + own.urlOf(run_id, 'sha256_0', orgs.acme))).code).toBe('unknown_artefact');
    expect((await open(gateway.url + own.urlOf('nobody', file_id, orgs.acme))).code).toBe('unknown_artefact');
  });

  it('is not given to a profile that does not show files', async () => {
    const { run_id } = await made('counted');
    const key = await orgs.keys.create({ org_id: orgs.acme, user_id: 'max', role: 'member', profiles: ['metrics'] });
    const { text } = await gateway.as(key.key).get(runPath(run_id, '/events?follow=false&dialect=event_contract'));
    expect(text).toContain('"generated_file"');
    expect(text).not.toMatch(/"url"|"base64"/);
  });
});

describe('where there is no address', () => {
  it('the file itself is there as base64, up to a size', async () => {
    const bare = await serveFor(world, orgs.auth, { files: undefined });
    try {
      const { run_id } = await made('inline');
      const [line] = await filesIn(bare, run_id);
      expect(line).not.toHaveProperty('url');
      expect(Buffer.from(line?.base64 ?? '', 'base64').toString()).toBe('inline');
    } finally {
      await bare.stop();
    }
  });
});
