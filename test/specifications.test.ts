/** docs/specifications.md: a row without something that holds it is a claim. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const rows = readFileSync(join(root, 'docs/specifications.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| rule ') && !line.startsWith('| -'))
  .map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  );

it('every row says a rule, what we do, why, and by which file it is held', () => {
  expect(rows.length).toBeGreaterThan(40);
  for (const row of rows) {
    expect(row, row[0]).toHaveLength(4);
    const file = /^`([^`]+)`$/.exec(row[3] ?? '')?.[1] ?? '';
    expect(existsSync(join(root, file)) && file !== '', `${row[0]}: ${row[3]}`).toBe(true);
  }
});

it('no rule is there twice', () => {
  const rules = rows.map(([rule]) => rule);
  expect(new Set(rules).size).toBe(rules.length);
});
