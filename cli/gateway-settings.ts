/** How the gateway listens and whom it lets in, from flags and from the environment; flags win. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { apiKeyCheck } from '../gateway/auth/api-key.js';
import type { Auth, TokenCheck } from '../gateway/auth/authenticate.js';
import { jwtCheck } from '../gateway/auth/jwt.js';
import { DEFAULT_LIMITS } from '../gateway/limits/gateway-limits.js';
import type { GatewayLimits } from '../gateway/limits/gateway-limits.js';
import { createApiKeys } from '../store/api-keys.js';
import { CommandError } from './command-error.js';
import type { AuthFlags } from './gateway-flags.js';

export const HTTP_PORT = 2700;

export interface GatewaySettings {
  /** Undefined: nobody has configured any. */
  auth: Auth | undefined;
  origins: string[];
  limits: GatewayLimits;
}

/** `defaultKeys` is used where it exists and nothing else is said; undefined: only what is said counts. */
export function gatewaySettings(flags: AuthFlags, env: NodeJS.ProcessEnv, defaultKeys?: string): GatewaySettings {
  const keysFile =
    keysPath(flags, env) ?? (defaultKeys !== undefined && existsSync(defaultKeys) ? defaultKeys : undefined);
  const jwt = jwtSettings(flags, env);
  const [first, ...others]: TokenCheck[] = [
    ...(keysFile === undefined ? [] : [apiKeyCheck(createApiKeys(keysFile))]),
    ...(jwt === undefined ? [] : [jwtCheck(jwt)]),
  ];
  return {
    auth: first === undefined ? undefined : { kind: 'on', checks: [first, ...others] },
    origins: originsOf(flags.corsOrigins ?? env['PERDURE_CORS_ORIGINS'] ?? ''),
    limits: limitsFrom(env),
  };
}

export function keysPath(flags: Pick<AuthFlags, 'apiKeysFile'>, env: NodeJS.ProcessEnv): string | undefined {
  const named = flags.apiKeysFile ?? env['PERDURE_API_KEYS_FILE'];
  return named === undefined || named === '' ? undefined : resolve(named);
}

export function defaultKeysPath(dataDir: string): string {
  return join(dataDir, 'api-keys.json');
}

function jwtSettings(flags: AuthFlags, env: NodeJS.ProcessEnv) {
  const given = {
    '--jwks-url': flags.jwksUrl ?? env['PERDURE_JWKS_URL'],
    '--jwt-issuer': flags.jwtIssuer ?? env['PERDURE_JWT_ISSUER'],
    '--jwt-audience': flags.jwtAudience ?? env['PERDURE_JWT_AUDIENCE'],
  };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined || value === '' ? [name] : []));
  if (missing.length === 3) return undefined;
  if (missing.length > 0) {
    throw new CommandError(
      `Tokens are checked against key set, issuer and audience: ${missing.join(' and ')} missing.`,
    );
  }
  const claim = (name: string) => env[`PERDURE_JWT_${name.toUpperCase()}_CLAIM`];
  const claims = Object.fromEntries(
    ['user', 'org', 'role', 'profiles'].flatMap((name) => (claim(name) ? [[name, claim(name)]] : [])),
  ) as Partial<Record<'user' | 'org' | 'role' | 'profiles', string>>;
  const [jwks_url = '', issuer = '', audience = ''] = Object.values(given);
  return { jwks_url, issuer, audience, claims };
}

function originsOf(list: string): string[] {
  const origins = list.split(',').map((origin) => origin.trim());
  for (const origin of origins.filter((each) => each !== '')) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new CommandError(`"${origin}" is no origin: write it like https://app.example, without a path.`);
    }
  }
  return origins.filter((origin) => origin !== '');
}

const LIMIT_VARIABLES: Record<keyof GatewayLimits, string> = {
  body_bytes: 'PERDURE_MAX_BODY_BYTES',
  header_bytes: 'PERDURE_MAX_HEADER_BYTES',
  header_timeout_ms: 'PERDURE_HEADER_TIMEOUT_MS',
  request_timeout_ms: 'PERDURE_REQUEST_TIMEOUT_MS',
  open_streams: 'PERDURE_MAX_OPEN_STREAMS',
  recheck_ms: 'PERDURE_RECHECK_MS',
  requests_per_second: 'PERDURE_REQUESTS_PER_SECOND',
  request_burst: 'PERDURE_REQUEST_BURST',
};

function limitsFrom(env: NodeJS.ProcessEnv): GatewayLimits {
  const limits = { ...DEFAULT_LIMITS };
  for (const [name, variable] of Object.entries(LIMIT_VARIABLES) as [keyof GatewayLimits, string][]) {
    const text = env[variable];
    if (text === undefined || text === '') continue;
    if (!/^[1-9]\d{0,11}$/.test(text)) throw new CommandError(`${variable} is "${text}": give a whole number from 1.`);
    limits[name] = Number(text);
  }
  return limits;
}
