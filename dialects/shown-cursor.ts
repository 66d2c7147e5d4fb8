/**
 * What live lines showed of open blocks, as a text of letters, digits, `-` and `_`: entries are divided by `--`, their
 * fields by `-`; a field escapes any other character as `_<hex>_`, and an empty one is `_`.
 */
import { PerdureError } from '../contract/errors.js';
import { resumeFlow } from './shown-text.js';
import type { FlowKind, Shown } from './shown-text.js';
import type { Twin } from './shown-twins.js';

const LETTERS: Readonly<Record<FlowKind, string>> = { text: 'x', thinking: 'h', input: 'i', output: 'o' };
const TWIN = 't';
const EMPTY = '_';

export function writeShown(shown: Shown): string | undefined {
  const flows = Object.values(shown.flows)
    .filter(({ settled, sent }) => !settled && sent.length > 0)
    .map(({ kind, step, of, sent }) => fields(LETTERS[kind], step, sent.length, sent.a, sent.b, of));
  const twins = shown.twins.map(({ stem, from, to, call }) => fields(TWIN, stem, from, to, call));
  const entries = [...flows, ...twins];
  return entries.length === 0 ? undefined : entries.join('--');
}

export function readShown(shown: Shown, written: string): Shown {
  return written.split('--').reduce((state, entry) => {
    const [letter, ...rest] = entry.split('-');
    return letter === TWIN ? withTwin(state, rest) : withFlow(state, letter, rest);
  }, shown);
}

function withFlow(shown: Shown, letter: string | undefined, [step, length, a, b, of]: string[]): Shown {
  const kind = (Object.keys(LETTERS) as FlowKind[]).find((name) => LETTERS[name] === letter);
  if (kind === undefined) throw refusedCursor();
  const sent = { length: number(length), a: number(a), b: number(b) };
  return resumeFlow(shown, { kind, step: text(step), of: text(of) }, sent);
}

function withTwin(shown: Shown, [stem, from, to, call]: string[]): Shown {
  const twin: Twin = { stem: text(stem), from: number(from), to: number(to), call: text(call) };
  return { ...shown, twins: [...shown.twins, twin] };
}

export function fields(...values: readonly (string | number)[]): string {
  return values.map((value) => (typeof value === 'number' ? value.toString(36) : escape(value))).join('-');
}

function escape(value: string): string {
  return value === '' ? EMPTY : value.replace(/[^A-Za-z0-9]/g, (unit) => `_${unit.charCodeAt(0).toString(16)}_`);
}

export function text(field: string | undefined): string {
  if (field === EMPTY) return '';
  if (field === undefined || !/^([A-Za-z0-9]|_[0-9a-f]{1,4}_)+$/.test(field)) throw refusedCursor();
  return field.replace(/_([0-9a-f]{1,4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

export function number(field: string | undefined): number {
  if (field === undefined || !/^[0-9a-z]{1,8}$/.test(field)) throw refusedCursor();
  return Number.parseInt(field, 36);
}

export function refusedCursor(): PerdureError {
  return new PerdureError(
    'invalid_request',
    'the cursor cannot be read: what it says of open blocks is none that a stream gave, or it was changed or cut',
  );
}
