/** The table in docs/providers.md has a row for each behaviour that the suite runs, and a column for each vendor. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { VENDORS } from './vendors.js';

const page = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8');
const suite = readFileSync(join(import.meta.dirname, 'behaviour.test.ts'), 'utf8');
const [head = [], , ...rows] = page
  .slice(page.indexOf('| behaviour '))
  .split('\n\n', 1)
  .join('')
  .split('\n')
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

it('has the behaviours of the suite, in its order', () => {
  const titles = [...suite.matchAll(/\bit(?:\.each\([\s\S]*?\))?\(\s*'([^']+)'/g)].map(([, title = '']) =>
    title.replace(/(: %| \(%).*$/, ''),
  );
  expect(titles.length).toBeGreaterThan(25);
  expect(rows.map(([behaviour]) => behaviour)).toEqual(titles);
});

it('has the vendors of the suite, and says something of each', () => {
  expect(head.slice(1)).toEqual(VENDORS.map(({ name }) => name));
  for (const [behaviour, ...cells] of rows) {
    expect(cells, behaviour).toHaveLength(VENDORS.length);
    for (const cell of cells) expect(cell, behaviour).not.toBe('');
  }
});
