/** docs/dialects.md cannot drift: its table has a row for each event of the contract, and says what the dialects do. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { DurableEvent } from '../../contract/events.js';
import { LiveEvent, StreamMarker } from '../../contract/live-events.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { createTeller, dialectNames, linesOf } from './tell-all.js';

const page = readFileSync(join(import.meta.dirname, '../../docs/dialects.md'), 'utf8');
const [table = ''] = page.slice(page.indexOf('| event ')).split('\n\n');
const rows = table.split('\n').map((line) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim()),
);
const [head = [], , ...body] = rows;

function typesOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodDiscriminatedUnion) return schema.options.flatMap(typesOf);
  const { type } = (schema as z.ZodObject<{ type: z.ZodLiteral<string> }>).shape;
  return [type.value];
}

it('has a row for every durable event, live event and marker, once', () => {
  const types = new Set([DurableEvent, LiveEvent, StreamMarker].flatMap(typesOf));
  expect(types.size).toBeGreaterThan(35);
  expect(body.map(([cell = '']) => cell.replaceAll('`', '')).toSorted()).toEqual([...types].toSorted());
});

it('has a column for every dialect', () => {
  expect(head.slice(1).map((cell) => cell.replaceAll('`', ''))).toEqual(dialectNames);
});

it('has a word where a dialect says something in the golden streams, and none where it never does', () => {
  const golden = join(import.meta.dirname, 'golden');
  for (const [column, dialect] of dialectNames.entries()) {
    const said = new Map<string, Set<string>>();
    for (const name of readdirSync(golden)) {
      const teller = createTeller(dialect);
      const stream = readFileSync(join(golden, name, 'events.ndjson'), 'utf8')
        .trimEnd()
        .split('\n');
      for (const line of stream) {
        const event = JSON.parse(line) as StreamEvent;
        const items = teller.tell(event);
        const words = said.get(event.type) ?? new Set();
        said.set(event.type, words);
        for (const { data, place } of linesOf(items))
          if (place !== undefined || !('seq' in event)) words.add(String(data['type']));
        // Void text is said of whatever event finds it out: it has a section of its own.
        if (items.some((item) => 'warning' in item && !item.warning.includes('is void'))) words.add('a warning');
      }
    }
    for (const [event = '', ...cells] of body) {
      const type = event.replaceAll('`', '');
      const cell = cells[column] ?? '';
      const words = [...(said.get(type) ?? [])];
      if (cell === '=') expect(words, `${dialect}, ${type}`).toEqual([type]);
      else if (cell === '') expect(words, `${dialect}, ${type}`).toEqual([]);
      const named = [...cell.matchAll(/`(\w+)(?:: \w+)?`/g)].map(([, word]) => word ?? '');
      const known = named.filter((word) => !['text_end', 'text', 'metadata'].includes(word));
      if (cell !== '=')
        expect(
          known.filter((word) => !words.includes(word)),
          `${dialect}, ${type}`,
        ).toEqual([]);
    }
  }
});
