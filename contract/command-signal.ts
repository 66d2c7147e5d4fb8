/**
 * A command as a signal: the way of those for which the server has no room as updates, since it takes 2,000 of them in
 * one execution. Whoever sends one asks by query what became of it. No zod here.
 */
import type { AsOf } from './queries.js';
import { TEXT_LIMITS, utf8Bytes } from './sizes.js';

/** `command`. */
export interface CommandSignal {
  /** The same id, sent again, is the same command: that of the update, where it was one before. */
  id: string;
  /** Which time it is sent: what was refused is looked at anew. */
  attempt?: string;
  /** Of the update that it would be. */
  name: string;
  command: unknown;
}

export type CommandOutcome = { answer: unknown } | { code: string; message: string };

/** `read_outcome`. */
export interface OutcomeRequest {
  id: string;
  attempt?: string;
}

export interface OutcomeAnswer extends AsOf {
  /** Absent: it did not come yet, or is being done. */
  outcome?: CommandOutcome;
}

/** Anyone can send a signal. */
export function isCommandSignal(given: unknown): given is CommandSignal {
  if (typeof given !== 'object' || given === null) return false;
  const { id, attempt = '', name } = given as Partial<CommandSignal>;
  const isKey = (value: unknown) => typeof value === 'string' && utf8Bytes(value) <= TEXT_LIMITS.key;
  return isKey(id) && isKey(attempt) && typeof name === 'string';
}
