/** The gateway's log: lines of JSON. No header, query or body is ever logged; the rest is a second lock on that door. */
import { createScrub, LEAST_CHARS } from '../contract/scrub-secrets.js';
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';

export type { Logger } from 'pino';

/** Wherever one turns up, as in the text of an error. */
const SECRETS = /perdure_[0-9a-f]{12}_[\w-]+|eyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=bearer\s+)[^\s"\\]+/gi;
/** JSON leaves them as they are, and some terminals obey them. */
const UNESCAPED = /[\x7f-\x9f]/g;
const HIDDEN = '[hidden]';
const FIELDS = ['authorization', 'cookie', 'api_key', 'token', 'password', 'secret'];

/** `secrets` of the process: an error may repeat one. */
export function createLog(
  destination: DestinationStream,
  level: Level = 'info',
  secrets: readonly string[] = [],
): Logger {
  const scrub = createScrub(secrets, LEAST_CHARS);
  return pino(
    {
      level,
      redact: { paths: FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: HIDDEN },
      hooks: { streamWrite: (line) => scrub(line.replaceAll(SECRETS, HIDDEN)).replaceAll(UNESCAPED, '') },
    },
    destination,
  );
}
