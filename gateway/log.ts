/** The gateway's log: lines of JSON. No header, query or body is ever logged; the rest is a second lock on that door. */
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';

export type { Logger } from 'pino';

/** Wherever one turns up, as in the text of an error. */
const SECRETS = /perdure_[0-9a-f]{12}_[\w-]+|eyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=bearer\s+)[^\s"\\]+/gi;
const HIDDEN = '[hidden]';
const FIELDS = ['authorization', 'cookie', 'api_key', 'token', 'password', 'secret'];

export function createLog(destination: DestinationStream, level: Level = 'info'): Logger {
  return pino(
    {
      level,
      redact: { paths: FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: HIDDEN },
      hooks: { streamWrite: (line) => line.replaceAll(SECRETS, HIDDEN) },
    },
    destination,
  );
}
