/**
 * The text of the `code` field of a call's arguments, decoded as the JSON is being written. Arguments that turn out
 * to be no JSON give what could be read of them: live readers and late ones decode the same way.
 */
export interface CodeReader {
  readonly depth: number;
  readonly place: 'outside' | 'string' | 'escape' | 'hex';
  /** The string that is being read, or the last one read, where it may be a name of the outermost object. */
  readonly name: string;
  readonly role: 'name' | 'code' | 'other';
  readonly isValueNext: boolean;
  readonly hex: string;
}

export const START_OF_ARGUMENTS: CodeReader = {
  depth: 0,
  place: 'outside',
  name: '',
  role: 'other',
  isValueNext: false,
  hex: '',
};

const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

export function readCode(before: CodeReader, chunk: string): { reader: CodeReader; code: string } {
  let { depth, place, name, role, isValueNext, hex } = before;
  let code = '';
  const take = (unit: string) => {
    if (role === 'code') code += unit;
    else if (role === 'name') name += unit;
  };
  for (const unit of chunk.split('')) {
    if (place === 'escape') {
      place = unit === 'u' ? 'hex' : 'string';
      hex = '';
      if (unit !== 'u') take(ESCAPED[unit] ?? unit);
    } else if (place === 'hex') {
      hex += unit;
      if (hex.length < 4) continue;
      place = 'string';
      take(String.fromCharCode(Number.parseInt(hex, 16) || 0));
    } else if (place === 'string') {
      if (unit === '\\') place = 'escape';
      else if (unit === '"') place = 'outside';
      else take(unit);
    } else if (unit === '"') {
      place = 'string';
      role = depth !== 1 ? 'other' : !isValueNext ? 'name' : name === 'code' ? 'code' : 'other';
      if (role === 'name') name = '';
    } else if (unit === '{' || unit === '[') depth += 1;
    else if (unit === '}' || unit === ']') depth -= 1;
    else if (depth === 1 && unit === ':') isValueNext = true;
    else if (depth === 1 && unit === ',') isValueNext = false;
  }
  return { reader: { depth, place, name, role, isValueNext, hex }, code };
}

export function codeOf(written: string): string {
  return readCode(START_OF_ARGUMENTS, written).code;
}
