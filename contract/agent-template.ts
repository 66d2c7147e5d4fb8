/**
 * Templates with `{{name}}` in the texts of a JSON value, as the published Python client of the threads API has them:
 * only in values, never in keys; what is filled in is not looked at again. No zod here.
 */
import { utf8Bytes } from './sizes.js';

export const VARIABLE_NAME_PATTERN = /^[a-zA-Z_][a-zA-Z0-9_.]*$/;
const PLACEHOLDER = /\{\{\s*([a-zA-Z_][a-zA-Z0-9_.]*)\s*\}\}/g;

export interface Placeholder {
  name: string;
  /** Where it is, like `messages.0.content.0.text`. */
  path: string;
}

export function findPlaceholders(node: unknown, path = ''): { found: Placeholder[]; inKeys: string[] } {
  if (typeof node === 'string') {
    return { found: [...node.matchAll(PLACEHOLDER)].map(([, name = '']) => ({ name, path })), inKeys: [] };
  }
  const below = Object.entries(isContainer(node) ? node : {}).map(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`;
    const { found, inKeys } = findPlaceholders(value, at);
    return { found, inKeys: key.search(PLACEHOLDER) === -1 ? inKeys : [at, ...inKeys] };
  });
  return { found: below.flatMap(({ found }) => found), inKeys: below.flatMap(({ inKeys }) => inKeys) };
}

/** What `fillTemplate` would make, in bytes of its texts and keys: a small template asks for any amount of text. */
export function filledBytes(node: unknown, values: ReadonlyMap<string, string>): number {
  const sizes = new Map([...values].map(([name, value]) => [name, utf8Bytes(value)]));
  const count = (each: unknown): number => {
    if (typeof each === 'string') {
      let bytes = utf8Bytes(each);
      for (const [all, name = ''] of each.matchAll(PLACEHOLDER)) {
        const replaced = utf8Bytes(all);
        bytes += (sizes.get(name) ?? replaced) - replaced;
      }
      return bytes;
    }
    if (!isContainer(each)) return 0;
    return Object.entries(each).reduce((sum, [key, value]) => sum + utf8Bytes(key) + count(value), 0);
  };
  return count(node);
}

/** A placeholder without a value stays as it is. */
export function fillTemplate(node: unknown, values: ReadonlyMap<string, string>): unknown {
  if (typeof node === 'string') return node.replaceAll(PLACEHOLDER, (all, name: string) => values.get(name) ?? all);
  if (Array.isArray(node)) return node.map((item) => fillTemplate(item, values));
  if (!isContainer(node)) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, fillTemplate(value, values)]));
}

function isContainer(node: unknown): node is object {
  return typeof node === 'object' && node !== null;
}
