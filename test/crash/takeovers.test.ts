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
  ['without kills', false],
  ['with kills', true],
])('takeovers %s', (_what, kills) => {
  it.each(Array.from({ length: ROUNDS }, (_, n) => SEED + n))(
    'leave nothing hung, wedged or told in two ways (PERDURE_SEED=%i)',
    { timeout: 900_000 },
    async (seed) => {
      // With the smallest cache that the SDK has, which is two, each task replays; with three, some do.
      const cache = kills && seed % 2 === 1 ? 2 : 3;
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
      process.stderr.write(`takeovers: seed ${seed}, cache ${cache}, ${JSON.stringify(counts)}\n`);
      expect({ hung, wedged, unreplayable, differing: differing.slice(0, 5), broken }).toEqual({
        hung: [],
        wedged: [],
        unreplayable: [],
        differing: [],
        broken: [],
      });
      // A load without takeovers would prove nothing, nor one whose readers are told nothing.
      expect(counts.takeovers).toBeGreaterThan(0);
      expect(counts.brought).toBeGreaterThan(0);
    },
  );
});
