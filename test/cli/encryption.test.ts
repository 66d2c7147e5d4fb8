/** Encryption keys for the command: by the environment, or by a function of the application. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKey } from '../support/test-keys.js';
import { app, finished, perdure, script, startDev } from './command.js';
import type { Dev } from './command.js';

const CANARY = 'a canary that only we may read';
const sealed = join(import.meta.dirname, 'fixtures/sealed');

async function historyOf(address: string, runId: string): Promise<Buffer> {
  const connection = await Connection.connect({ address });
  try {
    const history = await new Client({ connection }).workflow.getHandle(runId).fetchHistory();
    return Buffer.from(proto.temporal.api.history.v1.History.encode(history).finish());
  } finally {
    await connection.close();
  }
}

describe.each([
  ['of the environment', app, { PERDURE_ENCRYPTION_KEYS: `k1:${testKey('k1').key}` }, 'k1'],
  ['that the application asks a function for', sealed, {}, 'from-kms'],
])('keys %s', (_what, cwd, env, keyId) => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(cwd, undefined, ['--http-port', String(await freePort())], env as Record<string, string>);
  });
  afterAll(() => dev.stop());
  const command = (args: string[], more: Record<string, string> = {}) =>
    finished(perdure([...args, ...dev.flags], { cwd, env: { ...(env as Record<string, string>), ...more } }));

  it('are used by all commands, and Temporal has no plain text', async () => {
    const ran = await command(['run', 'test.script', script({ text: CANARY }), '--run-id', 'sealed-1']);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining(CANARY)]);
    const inspected = await command(['inspect', 'sealed-1']);
    expect([inspected.code, inspected.stdout]).toEqual([0, expect.stringContaining(CANARY)]);
    const bytes = await historyOf(dev.address, 'sealed-1');
    expect([bytes.includes('canary'), bytes.includes(keyId)]).toEqual([false, true]);
    const started = await fetch(`${dev.http}/v1/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent_id: 'test.script', input: script({ text: CANARY }), run_id: 'sealed-2' }),
    });
    expect(started.status).toBe(201);
    expect((await historyOf(dev.address, 'sealed-2')).includes('canary')).toBe(false);
  });

  it('are asked for by pages of Temporal’s UI, which then show plain text', async () => {
    const ui = await dev.command.printed(/Temporal UI {2}(http:\S+)/);
    const settings = (await (await fetch(`${ui}/api/v1/settings`)).json()) as { Codec?: { Endpoint?: string } };
    expect(settings.Codec?.Endpoint).toBe(`${dev.http}/v1/codec`);
    const headers = { origin: ui, 'content-type': 'application/json', 'x-namespace': 'default' };
    const ask = (from: Record<string, string>) =>
      fetch(`${dev.http}/v1/codec/decode`, { method: 'POST', headers: from, body: '{"payloads":[]}' });
    const answer = await ask(headers);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, ui]);
    expect((await ask({ ...headers, origin: 'http://127.0.0.1:1' })).status).toBe(403);
  });

  it('are named by a command that has others', async () => {
    const { code, stderr } = await command(['inspect', 'sealed-1'], {
      PERDURE_ENCRYPTION_KEYS: `k9:${testKey('k9').key}`,
    });
    expect(code).not.toBe(0);
    // The command's own words are sealed with a key that the worker does not have.
    expect(stderr).toContain(`a worker says: the encryption key "k9" is not known here; there are only: ${keyId}`);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('keys that are none', () => {
  it('are refused before anything is done, by the name of the variable, and not repeated', async () => {
    const env = { PERDURE_ENCRYPTION_KEYS: 'k1:c2VjcmV0' };
    const { code, stderr } = await finished(perdure(['inspect', 'x', '--address', '127.0.0.1:1'], { env }));
    expect(code).toBe(2);
    expect(stderr).toMatch(/PERDURE_ENCRYPTION_KEYS: .*the key "k1" must have 32 bytes/);
    expect(stderr).not.toContain('c2VjcmV0');
  });
});
