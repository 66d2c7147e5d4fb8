/** The flags of the gateway, and what its help says of its environment. */
import type { Command } from 'commander';

export interface KeysFileFlags {
  apiKeysFile?: string;
}

export interface AuthFlags extends KeysFileFlags {
  apiKeys?: boolean;
  jwksUrl?: string;
  jwtIssuer?: string;
  jwtAudience?: string;
  corsOrigins?: string;
  publicUrl?: string;
}

export const KEYS_FILE_HELP = 'keys from before the database, to be taken over (env PERDURE_API_KEYS_FILE)';

export function withAuthFlags(command: Command): Command {
  return withCorsFlag(command)
    .option('--api-keys', 'ask for API keys, also before there is one (env PERDURE_API_KEYS=on)')
    .option('--api-keys-file <file>', KEYS_FILE_HELP)
    .option('--jwks-url <url>', 'key set of the issuer of tokens (env PERDURE_JWKS_URL)')
    .option('--jwt-issuer <iss>', 'who issues the tokens (env PERDURE_JWT_ISSUER)')
    .option('--jwt-audience <aud>', 'for whom the tokens are (env PERDURE_JWT_AUDIENCE)');
}

export function withCorsFlag(command: Command): Command {
  return command
    .option('--cors-origins <list>', 'origins whose pages may call, with commas (env PERDURE_CORS_ORIGINS)')
    .option('--public-url <url>', 'where browsers reach it, for addresses of files (env PERDURE_PUBLIC_URL)');
}

export const GATEWAY_HELP = `
Claims of tokens: PERDURE_JWT_USER_CLAIM (sub), PERDURE_JWT_ORG_CLAIM (org_id), PERDURE_JWT_ROLE_CLAIM (role),
PERDURE_JWT_ROLES_CLAIM (roles), PERDURE_JWT_SCOPE_CLAIM (scope), PERDURE_JWT_PROFILES_CLAIM (profiles).
Limits: PERDURE_MAX_BODY_BYTES, PERDURE_MAX_HEADER_BYTES, PERDURE_HEADER_TIMEOUT_MS, PERDURE_REQUEST_TIMEOUT_MS,
PERDURE_MAX_CONNECTIONS_PER_ADDRESS, PERDURE_MAX_OPEN_STREAMS, PERDURE_REQUESTS_PER_SECOND, PERDURE_REQUEST_BURST.
Addresses of files: PERDURE_FILE_URL_SECONDS (3600), PERDURE_FILE_URL_KEY (else one that is kept in the database).
Database: PERDURE_DATABASE_URL, like postgresql://user:password@host:5432/name; else perdure.db in the data folder.`;
