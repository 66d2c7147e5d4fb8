import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../contract/durations.js';
import { Duration, Limits } from '../../contract/limits.js';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unit = fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[]));

describe('a duration', () => {
  it('in whole units is that many milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), unit, fc.constantFrom('', ' '), (n, name, space) => {
        expect(parseDuration(`${n}${space}${name}`)).toBe(n * units[name]);
      }),
    );
  });

  it('in decimals is exact to the millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999 }), unit, (hundredths, name) => {
        const text = `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}${name}`;
        expect(parseDuration(text)).toBe(Math.ceil((hundredths * units[name]) / 100));
      }),
    );
  });

  it.each([
    [250, 250],
    [0.2, 1],
    [' 30s ', 30_000],
    ['1.5h', 5_400_000],
    ['1.1h', 3_960_000],
  ])('written as %j is %i ms', (value, milliseconds) => {
    expect(parseDuration(value)).toBe(milliseconds);
  });

  it.each([
    '',
    '30',
    's',
    '-5s',
    '0s',
    '30 seconds',
    '1e3s',
    '5S',
    '1h30m',
    '.5s',
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])('is not %j', (value) => {
    expect(parseDuration(value)).toBeUndefined();
  });

  it('is milliseconds once a limit was parsed, and stays so when it is parsed again', () => {
    const limits = Limits.parse({ time_budget: '5m' });
    expect(limits).toEqual({ time_budget: 300_000 });
    expect(Limits.parse(limits)).toEqual(limits);
  });

  it('that cannot be read is an error that says how to write one', () => {
    expect(Duration.safeParse('soon').error?.issues[0]?.message).toBe(
      'is no duration: write milliseconds, or like "30s", "5m", "7d"',
    );
  });
});
