/**
 * A call as a person reads it who is asked for leave. No zod here.
 *
 * C1  It is made of the parsed arguments, which are what runs, and not of the text that the model wrote.
 * C2  It has two lines, whatever the arguments hold: these, and below them the tool's name.
 * C3  What a reader cannot see, or what would put other characters in another order, is written as an escape.
 */
import { duplicateKey } from './duplicate-key.js';

/** Controls, formats (bidirectional ones among them), lone surrogates, unknown characters; and spaces but the usual one. */
const UNSEEN = /(?! )[\p{C}\p{Z}]/gu;

export function renderCall(name: string, args: string): string {
  return `${renderArguments(args)}\n${visible(name)}`;
}

export function renderArguments(args: string): string {
  if (args.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(args);
    if (duplicateKey(args) === undefined) return visible(JSON.stringify(value, unlimited));
  } catch {
    // It is shown as it is.
  }
  return `not valid: ${visible(JSON.stringify(args))}`;
}

/** JSON has no word for them, and would write null. */
function unlimited(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, n) => `\\u${hex(character.charCodeAt(n))}`).join(''),
  );
}

function hex(unit: number): string {
  return unit.toString(16).padStart(4, '0');
}
