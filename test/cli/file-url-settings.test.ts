/** How the gateway makes addresses of files, from flags and environment. */
import { describe, expect, it } from 'vitest';
import { gatewaySettings } from '../../cli/gateway-settings.js';
import type { AuthFlags } from '../../cli/gateway-flags.js';
import type { ApiKeys } from '../../store/api-keys.js';

const keys = {} as ApiKeys;
const settings = (flags: AuthFlags, env: NodeJS.ProcessEnv = {}) => gatewaySettings(flags, env, keys, false).fileUrls;

describe('addresses of files', () => {
  it('live for an hour, from the gateway’s root, under the key of the database, if nobody says otherwise', () => {
    expect(settings({})).toEqual({ stretch: 3_600 });
  });

  it('are as the environment says, and a flag wins over it', () => {
    const key = 'k'.repeat(32);
    const env = {
      PERDURE_PUBLIC_URL: 'https://agents.example',
      PERDURE_FILE_URL_SECONDS: '60',
      PERDURE_FILE_URL_KEY: key,
    };
    expect(settings({}, env)).toEqual({
      publicUrl: 'https://agents.example',
      stretch: 60,
      key: Buffer.from(key),
    });
    expect(settings({ publicUrl: 'http://127.0.0.1:2700/x' }, env)).toMatchObject({
      publicUrl: 'http://127.0.0.1:2700/x',
    });
  });

  it.each<[AuthFlags, NodeJS.ProcessEnv, RegExp]>([
    [{ publicUrl: 'agents.example' }, {}, /no address of a gateway/],
    [{ publicUrl: 'ftp://agents.example' }, {}, /no address of a gateway/],
    [{}, { PERDURE_FILE_URL_SECONDS: '0' }, /whole number from 1/],
    [{}, { PERDURE_FILE_URL_KEY: 'short' }, /shorter than 32/],
  ])('are refused with %j and %j', (flags, env, message) => {
    expect(() => settings(flags, env)).toThrow(message);
  });
});
