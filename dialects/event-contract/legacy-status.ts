/** `StatusEvent(status='running', tool="web_search", message='…')`: what old backends wrote into `content`. */
import { LEGACY_STATUS, normalizeStatus } from './vocabulary.js';
import type { UiStatus } from './vocabulary.js';

export interface LegacyStatus {
  tool: string;
  status: UiStatus;
  message: string;
}

/** A name begins at a word's beginning, or a long word would be read again from each of its letters. */
const FIELD = /\b(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,)]+))/gs;

/** What can be read of it; a string that names no field is its own message. */
export function parseLegacyStatus(text: string): LegacyStatus {
  const inside = text.slice(LEGACY_STATUS.length);
  const fields = new Map<string, string>();
  for (const [, name = '', single, double, bare] of inside.matchAll(FIELD)) {
    fields.set(
      name,
      (single ?? double ?? bare ?? '').replace(/\\(.)/gs, (_, unit: string) => (unit === 'n' ? '\n' : unit)),
    );
  }
  return {
    tool: fields.get('tool') ?? 'web_search',
    status: normalizeStatus(fields.get('status') ?? fields.get('state')),
    message: fields.get('message') ?? fields.get('activity') ?? (fields.size === 0 ? inside.replace(/\)\s*$/, '') : ''),
  };
}
