/** A result in two forms: what the model reads, and the value that it says, for readers that are programs. */
import type { ToolContent } from '../contract/messages.js';

/** Not by class: an application may have another copy of this module. */
const VALUED = Symbol.for('perdure.valued-result');

export interface ValuedResult {
  readonly content: ToolContent;
  readonly value: unknown;
}

/** For a tool whose text for the model is not the JSON of what it found. The value is kept with it, up to 64 KiB. */
export function withValue(content: ToolContent, value: unknown): ValuedResult {
  const result = { content, value };
  Object.defineProperty(result, VALUED, { value: true });
  return result;
}

export function isValued(value: unknown): value is ValuedResult {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, VALUED);
}
