/**
 * The token of a thread's reader: what it has, written down. Opaque to it, bound to its thread and to itself; it needs
 * no memory on our side, so it is good in any process and after any restart.
 */
import { createHash } from 'node:crypto';
import { PerdureError } from '../../contract/errors.js';
import type { ThreadPosition } from '../../contract/thread-delta.js';

/** Version history: 1 first shape; 2 `base`, with a digest of all that is not final; 3 how many goals are concluded. */
const VERSION = 3;

type Written = [
  version: number,
  counter: number,
  concluded: number,
  ...sent: [number, number, number, number, string, string] | [],
];

export function writeToken(threadId: string, { counter, concluded = 0, sent }: ThreadPosition): string {
  const fields: Written =
    sent === undefined
      ? [VERSION, counter, concluded]
      : [VERSION, counter, concluded, sent.index, sent.base, sent.blocks, sent.chars, sent.status, sent.digest];
  const text = Buffer.from(JSON.stringify(fields)).toString('base64url');
  return `${fingerprint(threadId, text)}.${text}`;
}

export function readToken(threadId: string, token: string): ThreadPosition {
  const [print, text = ''] = token.split('.');
  if (print !== fingerprint(threadId, text)) {
    const message = 'is no token of this thread: read the thread again, and go on with the token of that record';
    throw new PerdureError('invalid_request', `continuation token: it ${message}`, {
      issues: [{ path: 'next_token', message }],
    });
  }
  const written = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Written;
  // Of a release whose tokens had another form: whoever holds it gets everything anew.
  const fields = written[0] === 2 ? toVersion3(written as unknown as WrittenBefore) : written;
  if (fields[0] !== VERSION) return { counter: 0, sent: LOST };
  const [, counter, concluded, index, base, blocks, chars, status, digest] = fields;
  const place = concluded < 0 ? { counter } : { counter, concluded };
  if (index === undefined || base === undefined || blocks === undefined || chars === undefined) return place;
  return { ...place, sent: { index, base, blocks, chars, status: status ?? '', digest: digest ?? '' } };
}

type WrittenBefore = [version: number, counter: number, ...sent: [number, number, number, number, string, string] | []];

/** Which goals it had seen is not known: they come with their next change. */
function toVersion3([, counter, ...sent]: WrittenBefore): Written {
  return [VERSION, counter, -1, ...sent];
}

/** Fits no message, so that all are replaced. */
const LOST = { index: Number.MAX_SAFE_INTEGER, base: 0, blocks: 0, chars: 0, status: '', digest: '' };

function fingerprint(threadId: string, text: string): string {
  return createHash('sha256').update(`${threadId}\n${text}`).digest('base64url').slice(0, 16);
}
