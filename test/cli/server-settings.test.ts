/** Which server the commands use: flags, then Temporal's own environment configuration. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serverSettings } from '../../cli/server-settings.js';
import { testFolder } from './command.js';

/** No file of the user's. */
const nowhere = { HOME: '/nonexistent' };

function withProfile(): Record<string, string> {
  const file = join(testFolder(), 'temporal.toml');
  writeFileSync(
    file,
    '[profile.default]\nnamespace = "from-default"\n[profile.cloud]\naddress = "cloud:7233"\nnamespace = "prod"\napi_key = "k"\n',
  );
  return { ...nowhere, TEMPORAL_CONFIG_FILE: file };
}

describe('the server', () => {
  it('is the usual place when nobody names one, and that is known', () => {
    const settings = serverSettings({}, nowhere);
    expect(settings).toEqual({ connection: { address: '127.0.0.1:7233' }, namespace: 'default', storage: {} });
  });

  it('comes from the environment', () => {
    const env = { ...nowhere, TEMPORAL_ADDRESS: 'server:1', TEMPORAL_NAMESPACE: 'space', TEMPORAL_API_KEY: 'key' };
    expect(serverSettings({}, env)).toEqual({
      connection: { address: 'server:1', apiKey: 'key', tls: true },
      namespace: 'space',
      given: 'TEMPORAL_ADDRESS',
      storage: {},
    });
  });

  it('comes from a profile', () => {
    const settings = serverSettings({}, { ...withProfile(), TEMPORAL_PROFILE: 'cloud' });
    expect(settings).toMatchObject({ namespace: 'prod', given: 'the profile cloud' });
    expect(settings.connection).toMatchObject({ address: 'cloud:7233', apiKey: 'k', tls: true });
  });

  it('is not given by a profile that names none', () => {
    expect(serverSettings({}, withProfile())).toEqual({
      connection: { address: '127.0.0.1:7233' },
      namespace: 'from-default',
      storage: {},
    });
  });

  it('is what the flags say, whatever the environment does', () => {
    const env = { ...nowhere, TEMPORAL_ADDRESS: 'server:1', TEMPORAL_NAMESPACE: 'space' };
    expect(serverSettings({ address: 'flag:2', namespace: 'mine', taskQueue: 'queue' }, env)).toEqual({
      connection: { address: 'flag:2' },
      namespace: 'mine',
      taskQueue: 'queue',
      given: '--address',
      storage: {},
    });
  });

  it('is refused with a reason where the profile or its file does not exist', () => {
    const env = { ...withProfile(), TEMPORAL_PROFILE: 'nope' };
    expect(() => serverSettings({}, env)).toThrow("TEMPORAL_PROFILE is nope): Profile 'nope' not found");
    const missing = { ...nowhere, TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' };
    expect(() => serverSettings({}, missing)).toThrow('TEMPORAL_CONFIG_FILE names /nonexistent/temporal.toml');
  });
});
