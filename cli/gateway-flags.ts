/** The flags of the gateway, and what its help says of its environment. */
import type { Command } from 'commander';

export interface AuthFlags {
  apiKeysFile?: string;
  jwksUrl?: string;
  jwtIssuer?: string;
  jwtAudience?: string;
  corsOrigins?: string;
}

export function withAuthFlags(command: Command): Command {
  return command
    .option('--api-keys-file <file>', 'API keys, as `keys` makes them (env PERDURE_API_KEYS_FILE)')
    .option('--jwks-url <url>', 'key set of the issuer of tokens (env PERDURE_JWKS_URL)')
    .option('--jwt-issuer <iss>', 'who issues the tokens (env PERDURE_JWT_ISSUER)')
    .option('--jwt-audience <aud>', 'for whom the tokens are (env PERDURE_JWT_AUDIENCE)')
    .option('--cors-origins <list>', 'origins whose pages may call, with commas (env PERDURE_CORS_ORIGINS)');
}

export const GATEWAY_HELP = `
Claims of tokens: PERDURE_JWT_USER_CLAIM (sub), PERDURE_JWT_ORG_CLAIM (org_id), PERDURE_JWT_ROLE_CLAIM (role),
PERDURE_JWT_PROFILES_CLAIM (profiles). Limits: PERDURE_MAX_BODY_BYTES, PERDURE_MAX_HEADER_BYTES,
PERDURE_HEADER_TIMEOUT_MS, PERDURE_REQUEST_TIMEOUT_MS, PERDURE_MAX_OPEN_STREAMS, PERDURE_REQUESTS_PER_SECOND,
PERDURE_REQUEST_BURST.`;
