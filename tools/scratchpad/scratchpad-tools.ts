/**
 * Notes that outlive the conversation's window: the thread's where there is one, else the run tree's. A child begins
 * with its parent's notes, and its new ones come back with its end, whatever that is (`contract/tool-state.ts`, D3).
 * All four tools may be repeated: what they change is made once, when the call ends.
 */
import { z } from 'zod';
import { asEntry, ENTRY_PREFIXES } from '../../contract/scratchpad-entries.js';
import { toolFailure } from '../../contract/tool-failure.js';
import type { Otherwise, StateBounds, StateCell } from '../../contract/tool-state.js';
import { defineTool } from '../../kit/define-tool.js';
import type { Tool, ToolState } from '../../kit/define-tool.js';
import { ToolError } from '../../kit/tool-error.js';

const NOTES: StateCell = { scope: 'shared', name: 'memory.scratchpad' };
const BOUNDS: StateBounds = { entries: 100, characters: 32_000 };

const MEANINGS = '📌 new strategy, ✅ completed step, 🔄 revised strategy, ❓ open question, ⚠️ warning, ☠️ dead end';
const entry = z.string().describe(`One entry. It begins with one of: ${MEANINGS}.`);

const read = defineTool({
  tool_id: 'memory.scratchpad.read_scratchpad',
  description: 'Reads all entries of the scratchpad, each with its number.',
  input: z.object({}),
  reads: [NOTES],
  idempotent: true,
  run(_, { state }) {
    const entries = state.entries(NOTES);
    // What is read begins like an entry, whatever it is: readers tell it from other texts by that.
    if (entries.length === 0) return '❓ The scratchpad is empty.';
    return entries.map(({ value }, index) => `${String(value)} [${index + 1}]`).join('\n');
  },
});

const write = defineTool({
  tool_id: 'memory.scratchpad.write_scratchpad',
  description: 'Replaces the whole scratchpad. To add to it, use append_scratchpad.',
  input: z.object({
    content: z.string().describe(`The entries, each on a new line. Each begins with one of: ${MEANINGS}.`),
  }),
  idempotent: true,
  run({ content }, { state }) {
    const entries = entriesOf(content);
    state.clear(NOTES);
    for (const text of entries) add(state, text);
    return `Written: ${entries.length === 1 ? '1 entry' : `${entries.length} entries`}.`;
  },
});

const append = defineTool({
  tool_id: 'memory.scratchpad.append_scratchpad',
  description: 'Adds an entry to the scratchpad.',
  input: z.object({ entry }),
  idempotent: true,
  run({ entry: text }, { state }) {
    add(state, checked(text));
    return 'Written.';
  },
});

const update = defineTool({
  tool_id: 'memory.scratchpad.update_scratchpad',
  description: 'Replaces one entry of the scratchpad, by the number that read_scratchpad gives it.',
  input: z.object({ number: z.int().min(1), entry }),
  reads: [NOTES],
  idempotent: true,
  run({ number, entry: text }, { state }) {
    const { length } = state.entries(NOTES);
    if (number > length)
      throw new ToolError('invalid_call', `There is no entry ${number}: the scratchpad has ${length}.`);
    state.replace(NOTES, number - 1, checked(text), { bounds: BOUNDS, otherwise: FULL });
    return 'Written.';
  },
});

export function scratchpadTools(): Tool[] {
  return [read, write, append, update];
}

const FULL: Otherwise = {
  content: '',
  failure: toolFailure(
    'denied',
    `The scratchpad is full: it holds ${BOUNDS.entries} entries and ${BOUNDS.characters} characters. Nothing was ` +
      'written. Sum up what is there with write_scratchpad.',
  ),
};

function add(state: ToolState, text: string): void {
  state.append(NOTES, text, { bounds: BOUNDS, otherwise: FULL });
}

function checked(text: string): string {
  const known = asEntry(text);
  if (known !== undefined) return known;
  const prefixes = ENTRY_PREFIXES.join(' ');
  throw new ToolError('invalid_call', `An entry begins with one of ${prefixes}. Nothing was written.`);
}

/** A line that begins like an entry is one; any other goes on with the entry before it. */
function entriesOf(content: string): string[] {
  const entries: string[] = [];
  for (const line of content.trim().split('\n')) {
    const last = entries.at(-1);
    if (last === undefined || asEntry(line) !== undefined) entries.push(checked(line));
    else entries[entries.length - 1] = `${last}\n${line}`;
  }
  return entries.map((text) => text.trimEnd());
}
