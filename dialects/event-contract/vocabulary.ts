/** The closed lists of `seeds/event-contract.md` that both sides go by. */
import type { ScratchpadOperation } from './shapes.js';

export const WEB_TOOLS: ReadonlySet<string> = new Set([
  'perform_web_search',
  'read_web_page',
  'scroll_web_page',
  'search_web_page',
  'web_search',
  'browse',
]);

export const SCRATCHPAD_TOOLS: ReadonlySet<string> = new Set([
  'scratchpad',
  'read_scratchpad',
  'write_scratchpad',
  'append_scratchpad',
  'update_scratchpad',
]);

export const DELEGATION_TOOLS: ReadonlySet<string> = new Set(['delegate_research_task']);
export const CODE_TOOLS: ReadonlySet<string> = new Set(['code_interpreter']);

export const LEGACY_STATUS = 'StatusEvent(';

/** What a scratchpad's status labels say; as `content` the same strings are bleed. */
export const SCRATCHPAD_LABELS: Readonly<Record<ScratchpadOperation, { doing: string; done: string }>> = {
  read: { doing: '📖 Reading scratchpad...', done: '📖 Scratchpad read.' },
  update: { doing: '✏️ Updating scratchpad...', done: '✏️ Scratchpad updated.' },
  append: { doing: '📝 Appending to scratchpad...', done: '📝 Scratchpad entry written.' },
};

export const BLEED_STRINGS: readonly string[] = [
  ...Object.values(SCRATCHPAD_LABELS).flatMap(({ doing, done }) => [doing, done]),
  'Accessing memory...',
  'Memory synchronized.',
  'Scratchpad error:',
  'Validation error:',
];

export type UiStatus = 'in_progress' | 'success' | 'error' | 'warning';

const NORMALIZED: ReadonlyMap<string, UiStatus> = new Map([
  ['started', 'in_progress'],
  ['running', 'in_progress'],
  ['in_progress', 'in_progress'],
  ['complete', 'success'],
  ['completed', 'success'],
  ['done', 'success'],
  ['success', 'success'],
  ['inference_complete', 'success'],
  ['failed', 'error'],
  ['error', 'error'],
  ['warning', 'warning'],
]);

/** A word that is not in the table never looks like an end. */
export function normalizeStatus(word: unknown): UiStatus {
  return NORMALIZED.get(typeof word === 'string' ? word : '') ?? 'in_progress';
}
