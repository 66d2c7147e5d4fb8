/** How the gateway listens and whom it lets in, from flags and from the environment; flags win. */
import { apiKeyCheck } from '../gateway/auth/api-key.js';
import type { Auth, TokenCheck } from '../gateway/auth/authenticate.js';
import { jwtCheck } from '../gateway/auth/jwt.js';
import type { JwtOptions } from '../gateway/auth/jwt.js';
import { FILE_STRETCH_SECONDS } from '../gateway/file-links.js';
import { DEFAULT_LIMITS } from '../gateway/limits/gateway-limits.js';
import type { GatewayLimits } from '../gateway/limits/gateway-limits.js';
import type { ApiKeys } from '../store/api-keys.js';
import { CommandError } from './command-error.js';
import type { AuthFlags } from './gateway-flags.js';
import { oldKeysFile } from './open-records.js';

export const HTTP_PORT = 2700;
const CLAIMS = ['user', 'org', 'role', 'roles', 'scope', 'profiles'];

export interface GatewaySettings {
  /** Undefined: nobody has configured any. */
  auth: Auth | undefined;
  origins: string[];
  limits: GatewayLimits;
  fileUrls: FileUrlSettings;
}

/** How addresses of files are made. */
export interface FileUrlSettings {
  publicUrl?: string;
  stretch: number;
  /** Undefined: the one that the database keeps. */
  key?: Uint8Array;
}

/** API keys are asked for where somebody says so, or where the caller knows that there are some. */
export function gatewaySettings(
  flags: AuthFlags,
  env: NodeJS.ProcessEnv,
  keys: ApiKeys,
  hasKeys: boolean,
): GatewaySettings {
  const jwt = jwtSettings(flags, env);
  const [first, ...others]: TokenCheck[] = [
    ...(hasKeys || asksForKeys(flags, env) ? [apiKeyCheck(keys)] : []),
    ...(jwt === undefined ? [] : [jwtCheck(jwt)]),
  ];
  return {
    auth: first === undefined ? undefined : { kind: 'on', checks: [first, ...others] },
    origins: originsOf(flags.corsOrigins ?? env['PERDURE_CORS_ORIGINS'] ?? ''),
    limits: limitsFrom(env),
    fileUrls: fileUrlsFrom(flags, env),
  };
}

function asksForKeys(flags: AuthFlags, env: NodeJS.ProcessEnv): boolean {
  const said = env['PERDURE_API_KEYS'] ?? '';
  if (!['', 'on', 'off'].includes(said)) throw new CommandError(`PERDURE_API_KEYS is "${said}": it is "on" or "off".`);
  return flags.apiKeys === true || said === 'on' || oldKeysFile(flags, env) !== undefined;
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
    CLAIMS.flatMap((name) => (claim(name) ? [[name, claim(name)]] : [])),
  ) as NonNullable<JwtOptions['claims']>;
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

const SHORTEST_KEY = 32;

function fileUrlsFrom(flags: AuthFlags, env: NodeJS.ProcessEnv): FileUrlSettings {
  const publicUrl = flags.publicUrl ?? env['PERDURE_PUBLIC_URL'] ?? '';
  if (publicUrl !== '' && !/^https?:$/.test(URL.canParse(publicUrl) ? new URL(publicUrl).protocol : '')) {
    throw new CommandError(`"${publicUrl}" is no address of a gateway: write it like https://agents.example.`);
  }
  const key = env['PERDURE_FILE_URL_KEY'] ?? '';
  if (key !== '' && key.length < SHORTEST_KEY)
    throw new CommandError(`PERDURE_FILE_URL_KEY is shorter than ${SHORTEST_KEY} characters: take one by chance.`);
  return {
    ...(publicUrl === '' ? {} : { publicUrl }),
    ...(key === '' ? {} : { key: Buffer.from(key) }),
    stretch: wholeNumber(env, 'PERDURE_FILE_URL_SECONDS') ?? FILE_STRETCH_SECONDS,
  };
}

function wholeNumber(env: NodeJS.ProcessEnv, variable: string): number | undefined {
  const text = env[variable];
  if (text === undefined || text === '') return undefined;
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new CommandError(`${variable} is "${text}": give a whole number from 1.`);
  return Number(text);
}

const LIMIT_VARIABLES: Record<keyof GatewayLimits, string> = {
  body_bytes: 'PERDURE_MAX_BODY_BYTES',
  header_bytes: 'PERDURE_MAX_HEADER_BYTES',
  header_timeout_ms: 'PERDURE_HEADER_TIMEOUT_MS',
  request_timeout_ms: 'PERDURE_REQUEST_TIMEOUT_MS',
  connections_per_address: 'PERDURE_MAX_CONNECTIONS_PER_ADDRESS',
  open_streams: 'PERDURE_MAX_OPEN_STREAMS',
  recheck_ms: 'PERDURE_RECHECK_MS',
  requests_per_second: 'PERDURE_REQUESTS_PER_SECOND',
  request_burst: 'PERDURE_REQUEST_BURST',
};

function limitsFrom(env: NodeJS.ProcessEnv): GatewayLimits {
  const limits = { ...DEFAULT_LIMITS };
  for (const [name, variable] of Object.entries(LIMIT_VARIABLES) as [keyof GatewayLimits, string][]) {
    limits[name] = wholeNumber(env, variable) ?? limits[name];
  }
  return limits;
}
