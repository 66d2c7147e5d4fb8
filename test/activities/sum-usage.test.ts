import { expect, it } from 'vitest';
import { sumUsage } from '../../activities/sum-usage.js';

const usage = { model: 'm-2', input_tokens: 10, output_tokens: 2, total_tokens: 12 };

it('all that is counted of the calls of a planner is summed, images too', () => {
  const counts = { input_cached_tokens: 3, input_cache_creation_tokens: 4, input_image_tokens: 5 };
  expect(sumUsage('m', [{ ...usage, ...counts }, usage, { ...usage, ...counts, estimated: true }])).toEqual({
    model: 'm',
    input_tokens: 30,
    output_tokens: 6,
    total_tokens: 36,
    input_cached_tokens: 6,
    input_cache_creation_tokens: 8,
    input_image_tokens: 10,
    estimated: true,
  });
});

it('is unknown where one call did not say', () => {
  expect(sumUsage('m', [usage, null])).toBeNull();
});
