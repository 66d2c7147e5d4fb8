import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, EMPTY_DIGEST, extendDigest } from '../../contract/digest.js';
import { anyText } from './any-text.js';

const conversation = fc.array(anyText, { maxLength: 8 });
const digestAll = (texts: readonly string[]) => texts.reduce(extendDigest, EMPTY_DIGEST);

describe('the digest of a conversation', () => {
  // Digests are in the histories of runs in flight: a worker of another version must come to the same ones.
  it.each([
    [[], '0000000000000000'],
    [[''], 'ca50b165d7ca7951'],
    [['hello'], 'c3d7d099e25a8d7d'],
    [['hello', 'world'], '0b6518d9c5261aaf'],
    [['h€llo 😀 \ud83d'], 'ed96f85940bfdeb0'],
  ])('of %j is %s, for ever', (texts, digest) => {
    expect(digestAll(texts)).toBe(digest);
  });

  it('has sixteen hexadecimal digits and depends on nothing but the texts', () => {
    fc.assert(
      fc.property(conversation, (texts) => {
        expect(digestAll(texts)).toMatch(/^[0-9a-f]{16}$/);
        expect(digestAll([...texts])).toBe(digestAll(texts));
      }),
    );
  });

  it('differs for different conversations', () => {
    fc.assert(
      fc.property(conversation, conversation, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        expect(digestAll(one)).not.toBe(digestAll(other));
      }),
    );
  });

  it('depends on where one message ends and the next begins', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        expect(digestAll([one, other])).not.toBe(digestAll([one + other]));
      }),
    );
  });

  it('depends on the order of the messages', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        fc.pre(one !== other);
        expect(digestAll([one, other])).not.toBe(digestAll([other, one]));
      }),
    );
  });

  it('changes with any single character of a long text', () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(50);
    const digests = Array.from(text, (_unit, i) => digestOf(`${text.slice(0, i)}#${text.slice(i + 1)}`));
    expect(new Set([...digests, digestOf(text)]).size).toBe(text.length + 1);
  });

  it('does not collide over a hundred thousand short texts', () => {
    const digests = new Set(Array.from({ length: 100_000 }, (_item, i) => digestOf(`{"n":${i}}`)));
    expect(digests.size).toBe(100_000);
  });
});
