/** What the assistant can do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool } from 'perdure/kit';
import { z } from 'zod';

export const readClock = defineTool({
  tool_id: 'demo.clock.read_clock',
  description: 'The date and time in a time zone.',
  input: z.object({ time_zone: z.string().describe('An IANA name, like "Europe/Vienna"') }),
  idempotent: true,
  async run({ time_zone }, { progress, signal }) {
    progress('asking a slow clock', 0.5);
    await sleep(600, undefined, { signal });
    return new Date().toLocaleString('en-GB', { timeZone: time_zone, dateStyle: 'full', timeStyle: 'short' });
  },
});

export const percentOf = defineTool({
  tool_id: 'demo.math.percent_of',
  description: 'So many per cent of a number.',
  input: z.object({ percent: z.number(), of: z.number() }),
  idempotent: true,
  // Without the last digits, in which a computer's fractions are wrong.
  run: ({ percent, of }) => String(Number(((percent * of) / 100).toPrecision(12))),
});

export const countWords = defineTool({
  tool_id: 'demo.text.count_words',
  description: 'How many words and characters a text has.',
  input: z.object({ text: z.string() }),
  output: z.object({ words: z.number(), characters: z.number() }),
  idempotent: true,
  run: ({ text }) => ({ words: text.split(/\s+/).filter(Boolean).length, characters: text.length }),
});
