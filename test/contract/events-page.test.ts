import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventsPage } from '../../contract/events-page.js';
import { DurableEvent } from '../../contract/events.js';
import { LiveEvent, StreamMarker } from '../../contract/live-events.js';

const page = eventsPage();

describe('the reference page of the events', () => {
  it('is what docs/events.md holds (npm run docs writes it)', () => {
    const text = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');
    expect(text, 'docs/events.md is out of date: run `npm run docs`.').toBe(page);
  });

  it('describes every type of event and marker', () => {
    for (const union of [DurableEvent, LiveEvent, StreamMarker]) {
      for (const type of typesOf(union)) {
        expect(page).toMatch(new RegExp(`^### \`${type}\`\n\n[A-Z].*\\.\n\n(With|\\| field)`, 'm'));
      }
    }
  });

  it('has a section for every shape that it links to, and links to every shape that it has', () => {
    const links = new Set([...page.matchAll(/\]\(#(\w+)\)/g)].map(([, anchor]) => anchor));
    const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name?.toLowerCase());
    expect(links).toEqual(new Set(sections));
  });

  it('tells optional fields from required ones', () => {
    const section = page.slice(page.indexOf('### `tool_progress`'), page.indexOf('### `tool_retry`'));
    expect(section).toMatch(/\| `message` +\| string +\| yes +\|/);
    expect(section).toMatch(/\| `fraction` +\| number from 0 to 1 +\| no +\|/);
  });
});

/** Asks the parser: it names the types that it takes. */
function typesOf(union: typeof DurableEvent | typeof LiveEvent | typeof StreamMarker): string[] {
  return union.options.flatMap((option) => [...(option._zod.propValues?.['type'] ?? [])].map(String));
}
