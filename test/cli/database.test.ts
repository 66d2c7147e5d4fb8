/** Gateways and `perdure keys` on one Postgres database, each with a data folder of its own. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { caller } from '../gateway/gateway-world.js';
import { createDatabase, startPostgresIfPossible } from '../support/postgres.js';
import type { PostgresServer } from '../support/postgres.js';
import { finished, perdure, temporaryFolder, testFolder } from './command.js';
import type { Command } from './command.js';

const server = await startPostgresIfPossible((line) => process.stderr.write(`${line}\n`));
afterAll(() => server?.stop());

describe.skipIf(server === undefined)('on Postgres', () => {
  const env = { PERDURE_DATABASE_URL: '' };
  const [elsewhere, ...folders] = [temporaryFolder(), temporaryFolder(), temporaryFolder()] as const;
  let gateways: { command: Command; url: string }[] = [];

  async function keys(...args: string[]) {
    return finished(perdure(['keys', ...args, '--data-dir', elsewhere], { env }));
  }
  async function createKey(user: string): Promise<string> {
    const { code, stdout, stderr } = await keys('create', '--org', 'acme', '--user', user);
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/is in Postgres database t_\w+ at 127\.0\.0\.1:\d+, as a hash/);
    return stdout.trim();
  }

  beforeAll(async () => {
    env.PERDURE_DATABASE_URL = await createDatabase((server as PostgresServer).url);
    await createKey('first');
    const at = ['--address', inject('temporalAddress'), '--task-queue', randomUUID(), '--http-port', '0'];
    gateways = await Promise.all(
      folders.map(async (folder) => {
        const command = perdure(['gateway', ...at, '--data-dir', folder], { env });
        return { command, url: await command.printed(/gateway at (http:\S+:\d+),/) };
      }),
    );
  });
  afterAll(async () => {
    for (const { command } of gateways) command.signal('SIGTERM');
    for (const { command } of gateways) expect(await command.exited).toBe(0);
  });

  it('a key opens all gateways, is listed from anywhere, and is refused by all once it is revoked', async () => {
    const key = await createKey('ann');
    for (const { url } of gateways) expect((await caller(url, key).get('/v1/agents')).status).toBe(200);
    expect((await keys('list')).stdout).toMatch(new RegExp(`^${key.slice(8, 20)} .* acme +ann +member`, 'm'));
    expect((await keys('revoke', key.slice(8, 20))).code).toBe(0);
    for (const { url } of gateways) expect((await caller(url, key).get('/v1/agents')).status).toBe(401);
    for (const folder of folders) expect(existsSync(join(folder, 'perdure.db'))).toBe(false);
  });

  it('an agent that one gateway stores is there for the other', async () => {
    const key = await createKey('bob');
    const [one, other] = gateways.map(({ url }) => caller(url, key));
    const made = await one!.post('/v1/ai/agents', { name: 'welcome', request_template: { messages: ['Hello'] } });
    expect(made.status, made.text).toBe(200);
    expect((await other!.get('/v1/ai/agents/name/welcome')).body).toMatchObject({ data: { created_by: 'bob' } });
    expect((await other!.get('/v1/ai/agents/name/%00')).status).toBe(404);
  });

  it('one that cannot be reached is called that, with exit code 5 and without its password', async () => {
    const gone = new URL(env.PERDURE_DATABASE_URL);
    gone.port = '1';
    const args = ['keys', 'list', '--data-dir', elsewhere];
    const { code, stderr } = await finished(perdure(args, { env: { PERDURE_DATABASE_URL: gone.href } }));
    expect(code).toBe(5);
    expect(stderr).toMatch(/at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
    expect(stderr).not.toContain(gone.password);
  });

  it('a gateway whose database goes away says to try again, and tells callers nothing of it', async () => {
    const key = await createKey('eve');
    const [{ url, command }] = gateways as [(typeof gateways)[0]];
    await server?.stop();
    const answer = await caller(url, key).get('/v1/agents');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(answer.body).toMatchObject({ error: { code: 'server_unreachable' } });
    expect(answer.text).not.toMatch(/postgres|127\.0\.0\.1/i);
    expect(command.stdout()).toMatch(/database_unreachable/);
    expect(command.stdout() + command.stderr()).not.toContain(new URL(env.PERDURE_DATABASE_URL).password);
  });
});

describe('on a file', () => {
  it('keys of a file from before are taken over by whichever command comes first, once', async () => {
    const [folder, elsewhere] = [testFolder(), join(testFolder(), 'keys.json')];
    const hash = createHash('sha256').update('a key').digest('hex');
    const old = { id: '0123456789ab', hash, org_id: 'acme', user_id: 'ann', role: 'member', profiles: ['user_chat'] };
    await writeFile(elsewhere, JSON.stringify({ version: 1, keys: [{ ...old, created_at: '2026-01-01T00:00:00Z' }] }));
    const listed = await finished(perdure(['keys', 'list', '--data-dir', folder, '--api-keys-file', elsewhere]));
    expect(listed.stdout).toMatch(/^0123456789ab {2}2026-01-01T00:00:00Z {2}acme {2}ann/m);
    expect(listed.stderr).toBe(
      `taken over into ${folder}/perdure.db: 1 API keys of ${elsewhere}, which is not read any more\n`,
    );
    const again = await finished(
      perdure(['keys', 'list', '--data-dir', folder], { env: { PERDURE_API_KEYS_FILE: elsewhere } }),
    );
    expect(again).toMatchObject({ stdout: listed.stdout, stderr: '' });
  });
});
