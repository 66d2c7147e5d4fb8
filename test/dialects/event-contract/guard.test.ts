/** Chat text arrives as chat in every consumer that keeps to the contract, however it reads the bleed filter. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../contract/live-events.js';
import { textsOf } from '../reading.js';
import { calmRun, randomRun } from '../random-runs.js';
import { isDurable } from '../resume.js';
import { linesOf, tellAll } from '../tell-all.js';

const CASES = Number(process.env['PERDURE_CASES'] ?? 300);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);

const PREFIXES = ['📌', '✅', '🔄', '❓', '⚠️', '☠️', '⚠', '☠'];
const BLEED = [
  '📖 Reading scratchpad...',
  '📖 Scratchpad read.',
  '✏️ Updating scratchpad...',
  '✏️ Scratchpad updated.',
  '📝 Appending to scratchpad...',
  '📝 Scratchpad entry written.',
  'Accessing memory...',
  'Memory synchronized.',
  'Scratchpad error:',
  'Validation error:',
];

/** Others read the contract in their own way; none of them knows of the guard. */
const matches: Record<string, (text: string, bleed: string) => boolean> = {
  'equals, trimmed': (text, bleed) => text.trim() === bleed,
  'begins with, trimmed': (text, bleed) => text.trim().startsWith(bleed),
  contains: (text, bleed) => text.includes(bleed),
  'contains, without emoji and case': (text, bleed) =>
    text.toLowerCase().includes(bleed.replace(/^[^A-Z]+/, '').toLowerCase()),
};

function chatIn(isMatch: (text: string, bleed: string) => boolean, stream: readonly StreamEvent[]): string {
  let chat = '';
  let open = false;
  for (const { data } of linesOf(tellAll('event_contract', stream))) {
    if (data['type'] !== 'content') continue;
    const text = String(data['content']);
    const start = text.trimStart();
    if (PREFIXES.some((prefix) => start.startsWith(prefix))) open = true;
    else if (!open && !start.startsWith('StatusEvent(') && !BLEED.some((bleed) => isMatch(text, bleed))) chat += text;
  }
  return chat;
}

/** To them a guard is an invisible character of the text. */
function visible(text: string): string {
  return text.replaceAll('\u2060', '');
}

describe.each(Object.entries(matches))(`a consumer whose bleed filter ${'%s'} (PERDURE_SEED=${SEED})`, (_, isMatch) => {
  it('shows a late reader all the text', () => {
    fc.assert(
      fc.property(randomRun, (stream) => {
        const log = stream.filter(isDurable);
        expect(visible(chatIn(isMatch, log))).toBe(visible(textsOf(log).text));
      }),
      { seed: SEED, numRuns: CASES },
    );
  });

  it('shows a live reader all the text, wherever deltas are cut', () => {
    fc.assert(
      // Without attempts that were given up, so that the texts can be compared as they are.
      fc.property(calmRun, (stream) => {
        expect(visible(chatIn(isMatch, stream))).toBe(visible(textsOf(stream.filter(isDurable)).text));
      }),
      { seed: SEED, numRuns: CASES },
    );
  });
});
