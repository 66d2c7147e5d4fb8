/** Answers in Markdown: drawn on a terminal, also while they are written; as they are everywhere else. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drawMarkdown } from '../../cli/markdown/draw-markdown.js';
import { createLiveMarkdown } from '../../cli/markdown/live-markdown.js';
import { stylesFor } from '../../cli/terminal.js';
import type { Styles } from '../../cli/terminal.js';
import { printable, textWidth } from '../../cli/text-width.js';
import { app, finished, perdure, script, startDev } from './command.js';
import type { Dev } from './command.js';
import { sitDownAt } from './pseudo-terminal.js';

/** Each style as the tag of its name. */
const tags = Object.fromEntries(
  Object.keys(stylesFor({ isTTY: false })).map((name) => [name, (text: string) => `<${name}>${text}</${name}>`]),
) as unknown as Styles;
const plain = stylesFor({ isTTY: false });
const draw = (text: string, width = 60, styles = tags) => drawMarkdown(text, { width, styles }).join('\n');

const PIECES =
  `# Head|word |**bold|** |\`co|de\` |~|~~|- item|~  - below|1. one|> quote|\`\`\`~|x = 1~|[l](http://x) |[r]|~[r]: http://y~|***|---
<b>|</b>|    four|\\|&amp;|é漢🧑‍🌾 `
    .split(/[|\n]/)
    .map((piece) => piece.replaceAll('~', '\n'))
    .concat('| a | b |\n', '|---|:-:|\n', '| 1 | 2 |\n');

describe('Markdown on a terminal', () => {
  it('has headings, emphasis, code and links', () => {
    expect(draw('# One *a*\n## Two **b**')).toBe(
      '<underline><bold>One </bold></underline><italic><underline><bold>a</bold></underline></italic>\n\n<bold>Two </bold><bold><bold>b</bold></bold>',
    );
    expect(draw('A **b**, ~~c~~ and `d`.')).toBe('A <bold>b</bold>, <strike>c</strike> and <cyan>d</cyan>.');
    expect(draw('[here](https://a.example/x) or https://b.example')).toBe(
      '<underline>here</underline><dim> (https://a.example/x)</dim> or <underline>https://b.example</underline>',
    );
    expect(draw('![a cat](cat.png) &lt;b&gt; \\* 2 * 3')).toBe('[image: a cat]<dim> (cat.png)</dim> <b> * 2 * 3');
    expect(draw('one\ntwo<br>three')).toBe('one\ntwo\nthree');
  });

  it('has lists within lists, with hanging lines, and tasks', () => {
    const text = '- one two three\n  1. four five six\n     - seven\n- [x] done\n- [ ] open\n\n9. nine\n10. ten';
    expect(draw(text, 14, plain)).toBe(
      '• one two\n  three\n  1. four five\n     six\n     • seven\n☑ done\n☐ open\n\n 9. nine\n10. ten',
    );
    expect(draw('- a\n\n  b\n\n- c', 20, plain)).toBe('• a\n\n  b\n\n• c');
  });

  it('has code as it is written, quotes and rules', () => {
    expect(draw('```js\nif (a < b) {\n\n  **c**();\n}\n```')).toBe(
      '  <cyan>if (a < b) {</cyan>\n\n  <cyan>  **c**();</cyan>\n  <cyan>}</cyan>',
    );
    expect(draw('```\n0123456789abc\n```', 12, plain)).toBe('  0123456789\n  abc');
    expect(draw('> one **two**\n> three\n\n---', 5, plain)).toBe('│ one\n│ two\n│ thr\n│ ee\n\n─────');
    expect(draw('<div>a</div>', 40, plain)).toBe('<div>a</div>');
  });

  it('has tables that fit: aligned, with cells of several lines, or row by row', () => {
    const table = '| Name | Price |\n|:--|--:|\n| Tea | 2 |\n| A *large* coffee | 12 |';
    expect(draw(table, 60, plain)).toBe(
      'Name           │ Price\n───────────────┼──────\nTea            │     2\nA large coffee │    12',
    );
    expect(draw(table, 16, plain)).toBe(
      'Name     │ Price\n─────────┼──────\nTea      │     2\nA large  │    12\ncoffee   │',
    );
    expect(draw(table, 10, plain)).toBe('Name: Tea\nPrice: 2\n\nName: A\nlarge\ncoffee\nPrice: 12');
  });

  it('is drawn while it is written as it is at the end, wherever it is cut', () => {
    const piece = fc.constantFrom(...PIECES);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 8, max: 40 }), (pieces, width) => {
        const live = createLiveMarkdown();
        let text = '';
        for (const each of pieces) {
          text += each;
          expect(live(text, { width, styles: tags })).toEqual(drawMarkdown(text, { width, styles: tags }));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('never passes its width, and lets no escape sequence through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.integer({ min: 20, max: 60 }), (text, width) => {
        const lines = drawMarkdown(printable(text), { width, styles: plain });
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
        // oxlint-disable-next-line no-control-regex
        expect(lines.join('')).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
      }),
    );
    const hostile =
      '&#27;[2J `&#27;[2J` [a](&#27;[2J) ![&#x1b;c](x)\n\n    &#27;[2J\n\n| &#27;[2J |\n|-|\n| &#x9b;2J |\n\n<b &#27;[2J>';
    // oxlint-disable-next-line no-control-regex
    expect(draw(hostile, 40, plain)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  });

  it.each([
    ['quotes within quotes', `${'>'.repeat(5_000)} x`],
    ['lists within lists', `${'- '.repeat(3_000)}x`],
    ['brackets', '['.repeat(50_000)],
    ['emphasis', '_a_'.repeat(20_000)],
    ['underscores', `${'_'.repeat(40_000)}a`],
    ['spaces', `${' '.repeat(100_000)}x`],
    ['a word of many letters', 'é'.repeat(100_000)],
  ])('takes its time for no text: %s', (_what, text) => {
    const began = performance.now();
    expect(drawMarkdown(text, { width: 80, styles: plain }).length).toBeGreaterThan(0);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

describe('an answer in Markdown', { timeout: 120_000 }, () => {
  const answer =
    '# Prices\n\nThe **best** are:\n\n- tea\n- coffee\n\n| What | EUR |\n|---|--:|\n| Tea | 2 |\n\nThat is `all`.';
  const drawn = /\nPrices\n\nThe best are:\n\n• tea\n• coffee\n\nWhat │ EUR\n─────┼────\nTea  │   2\n\nThat is all\.\n/;
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev(app);
  });
  afterAll(() => dev.stop());
  const input = script({ text: answer, delay_ms: 60 });

  it('is drawn on a terminal while it is written, without a blank in between, and at last', async () => {
    const seat = sitDownAt(['run', 'test.script', input, '--run-id', 'drawn-1', '--url', dev.http]);
    // Still being written: the heading is one already, the table is not there yet.
    await seat.shows(/\nPrices\n\nThe best are:\n\n• tea\n/);
    expect(await seat.exited).toBe(0);
    expect(seat.text()).toMatch(drawn);
    expect(seat.text().match(/Prices/g)).toHaveLength(1);
    expect(seat.raw()).toContain('\x1b[4m\x1b[1mPrices\x1b[22m\x1b[24m');
    // Each frame is sent whole, line over line: nothing is cleared before it is drawn.
    // oxlint-disable-next-line no-control-regex
    expect(seat.raw()).not.toMatch(/\x1b\[2?J(?!\x1b\[\?2026l)/);
    expect(seat.raw().split('\x1b[?2026h').length).toBe(seat.raw().split('\x1b[?2026l').length);
  });

  it('is as the model wrote it on a pipe, and with --no-markdown', async () => {
    const piped = await finished(perdure(['run', 'test.script', input, ...dev.flags]));
    expect(piped.stdout).toContain(`\n${answer}\n`);
    const seat = sitDownAt(['run', 'test.script', input, '--no-markdown', ...dev.flags]);
    expect(await seat.exited).toBe(0);
    expect(seat.text()).toContain(answer);
  });

  it('is drawn in a chat, now and when one comes back, and by inspect', async () => {
    const seat = sitDownAt(['chat', 'test.script', ...dev.flags], { rows: 60 });
    await seat.shows('a message, or /help');
    seat.type(`${input}\r`);
    await seat.shows(drawn);
    const thread = /thread (thr_\S+) with/.exec(seat.text())?.[1] ?? '';
    seat.type('\x04');
    await seat.exited;
    const again = sitDownAt(['chat', '--thread', thread, ...dev.flags], { rows: 60 });
    await again.shows(drawn);
    again.type('\x04');
    expect(await again.exited).toBe(0);
    const inspected = sitDownAt(['inspect', `${thread}/turn_1`, ...dev.flags], { rows: 60 });
    expect(await inspected.exited).toBe(0);
    expect(inspected.text()).toMatch(drawn);
  });
});
