/**
 * Workers that take over from each other: see `takeover-load.ts`. PERDURE_SEED repeats a round; `npm run test:takeovers`
 * plays ten rounds of 150 roots.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { playLoad } from './takeover-load.js';

const ROOTS = Number(process.env['PERDURE_TAKEOVER_ROOTS'] ?? 24);
const ROUNDS = Number(process.env['PERDURE_TAKEOVER_ROUNDS'] ?? 1);
const AT_ONCE = Number(process.env['PERDURE_TAKEOVER_AT_ONCE'] ?? 8);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);

describe.each([
  ['with a cache of three, without kills', 3, false],
  ['with a cache of one, with kills', 1, true],
])('takeovers %s', (_what, cache, kills) => {
  it.each(Array.from({ length: ROUNDS }, (_, n) => SEED + n))(
    'leave nothing hung, wedged or told in two ways (PERDURE_SEED=%i)',
    { timeout: 900_000 },
    async (seed) => {
      const report = await playLoad({
        address: inject('temporalAddress'),
        seed,
        roots: ROOTS,
        atOnce: AT_ONCE,
        kills,
        cache,
        keepIn: join(tmpdir(), 'perdure-unreplayable'),
      });
      const { hung, wedged, unreplayable, differing, broken, ...counts } = report;
      process.stderr.write(`takeovers: seed ${seed}, ${JSON.stringify(counts)}\n`);
      expect({ hung, wedged, unreplayable, differing: differing.slice(0, 5), broken }).toEqual({
        hung: [],
        wedged: [],
        unreplayable: [],
        differing: [],
        broken: [],
      });
      // A load without takeovers would prove nothing.
      expect(counts.takeovers).toBeGreaterThan(0);
    },
  );
});
