/** What leaves a worker in words is without the secrets of its environment: in histories and logs they would stay. */
import { createScrub } from '../contract/scrub-secrets.js';
import type { Scrub } from '../contract/scrub-secrets.js';
import { secretSettings } from '../contract/secret-settings.js';

/** Longer than of a key in the error of its vendor: a stack has many words, and an environment many settings. */
const PIECE_CHARS = 8;

let made: { of: string; scrub: Scrub } | undefined;

export function withoutSecrets(text: string): string {
  const secrets = secretSettings(process.env);
  const of = secrets.join('\n');
  if (made?.of !== of) made = { of, scrub: createScrub(secrets, PIECE_CHARS) };
  return made.scrub(text);
}
