import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { duplicateKey } from '../../contract/duplicate-key.js';
import { renderArguments, renderCall } from '../../contract/render-call.js';
import { anyText } from './any-text.js';

describe('a call as a person reads it', () => {
  it('has the arguments as they run, and the tool last', () => {
    expect(renderCall('bank.money.pay', '{ "to" : "me",\n\n "sum":1e2 }')).toBe(
      '{"to":"me","sum":100}\nbank.money.pay',
    );
    expect(renderCall('bank.money.pay', '')).toBe('{}\nbank.money.pay');
  });

  it('has a number that is too large for any as what it is, and not as nothing', () => {
    expect(renderArguments('{"sum":1e999,"least":-1e999}')).toBe('{"sum":"Infinity","least":"-Infinity"}');
  });

  it('has two lines also where the name of the tool would make more, or hide something', () => {
    expect(renderCall('bank.money.pay\n\u202eweather.today.read', '{}')).toBe(
      '{}\nbank.money.pay\\u000a\\u202eweather.today.read',
    );
  });

  it('has two lines, whatever the arguments hold, and no character that cannot be seen', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), anyText, (value, text) => {
        const rendering = renderCall('a.b.c', JSON.stringify({ value, [text]: text }));
        expect(rendering.split('\n')).toHaveLength(2);
        expect(rendering).toMatch(/\na\.b\.c$/);
        expect(rendering.slice(0, -6)).not.toMatch(/(?! )[\p{C}\p{Z}]/u);
      }),
    );
  });

  it.each([
    ['\u202e', '\\u202e'],
    ['\u2066', '\\u2066'],
    ['\u200f', '\\u200f'],
    ['\u200b', '\\u200b'],
    ['\u2028', '\\u2028'],
    ['\u009b', '\\u009b'],
    ['\u001b', '\\u001b'],
    ['\u00a0', '\\u00a0'],
    ['\u{e0041}', '\\udb40\\udc41'],
  ])('%j is written as %s', (character, escape) => {
    expect(renderArguments(JSON.stringify({ text: `a${character}b` }))).toBe(`{"text":"a${escape}b"}`);
  });

  it.each(['{"a":1,"a":2}', '{"a":', 'pay\nme'])('%j is shown as it was written, and said not to be valid', (text) => {
    expect(renderArguments(text)).toBe(`not valid: ${JSON.stringify(text)}`);
  });

  it('keeps letters of any language', () => {
    expect(renderArguments('{"text":"žluťoučký 你好 😀"}')).toBe('{"text":"žluťoučký 你好 😀"}');
  });
});

describe('duplicateKey', () => {
  it.each([
    ['{"a":1,"b":2,"a":3}', 'a'],
    ['{"a":{"b":1},"c":[{"d":1,"d":2}]}', 'd'],
    ['{"a":1,"\\u0061" : 2}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"":1,"":2}', ''],
  ])('finds it in %s', (json, key) => {
    JSON.parse(json);
    expect(duplicateKey(json)).toBe(key);
  });

  it('finds none in what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), anyText, (value, text) => {
        expect(
          duplicateKey(JSON.stringify({ value, [text]: [{ a: text }, { a: `{"a":1,"a":2}${text}` }] })),
        ).toBeUndefined();
      }),
    );
  });

  it('takes a long text in its stride', () => {
    expect(duplicateKey(JSON.stringify({ a: '\\"'.repeat(500_000), b: 'x'.repeat(1_000_000) }))).toBeUndefined();
  });
});
