/**
 * How much of a text was shown: its length in UTF-16 units and a hash of them, so that a cursor need not hold the text.
 * The hash does not depend on how the text was cut into pieces. It tells two attempts of a model apart; it is no
 * protection against an adversary, who could only spoil a stream of their own.
 */
export interface Mark {
  readonly length: number;
  readonly a: number;
  readonly b: number;
}

export const NOTHING: Mark = { length: 0, a: 0x811c9dc5, b: 0x2f0b4c47 };

export function extendMark(mark: Mark, text: string): Mark {
  let { a, b } = mark;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b + unit + 1, 0x5bd1e995);
    b ^= b >>> 15;
  }
  return { length: mark.length + text.length, a: a >>> 0, b: b >>> 0 };
}

export function markOf(text: string): Mark {
  return extendMark(NOTHING, text);
}

export function sameMark(one: Mark, other: Mark): boolean {
  return one.length === other.length && one.a === other.a && one.b === other.b;
}

/** The text begins with exactly what the mark stands for. */
export function beginsWith(text: string, mark: Mark): boolean {
  return text.length >= mark.length && sameMark(markOf(text.slice(0, mark.length)), mark);
}
