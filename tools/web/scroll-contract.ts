/**
 * The scroll contract of `seeds/event-contract.md`, in durable state.
 *
 * S1  A page beyond page 0 is given only after `search_web_page` on the same URL: in the same thread where there is
 *     one, else in the same run tree.
 * S2  At most three calls of `scroll_web_page` are permitted for a URL in a run. The workflow counts, when a call ends, so
 *     parallel calls cannot go round it.
 * S3  A call that was permitted counts, whether it gives a page, fails, or names a page that is not there. One that is
 *     blocked was not, and one whose worker was lost told nobody of itself.
 *
 * A URL that redirects is counted under both names.
 */
import type { StateCell } from '../../contract/tool-state.js';
import type { ToolState } from '../../kit/define-tool.js';

export const SEARCHED: StateCell = { scope: 'shared', name: 'web.searched' };
export const SCROLLS: StateCell = { scope: 'run', name: 'web.scrolls' };

const MOST_SCROLLS = 3;

/** What a call is told instead of a page, before anything is fetched; undefined where it may go on. */
export function blocked(state: ToolState, key: string, page: number): string | undefined {
  if (page > 0 && state.value(SEARCHED, key) !== true) return searchFirst(page);
  return Number(state.value(SCROLLS, key) ?? 0) >= MOST_SCROLLS ? noMoreScrolls() : undefined;
}

export function countScroll(state: ToolState, key: string): void {
  const content = noMoreScrolls();
  state.increment(SCROLLS, key, { below: MOST_SCROLLS, otherwise: { content, notice: content }, always: true });
}

export function noteSearch(state: ToolState, keys: readonly string[]): void {
  for (const key of new Set(keys)) state.set(SEARCHED, key, true);
}

function searchFirst(page: number): string {
  return (
    `🛑 Page ${page} was not opened: pages beyond page 0 can be scrolled to only after a search in them. ` +
    'Call search_web_page with this URL and what you are looking for; it says on which page that is.'
  );
}

function noMoreScrolls(): string {
  return (
    `🛑 No further page was opened: this URL was scrolled ${MOST_SCROLLS} times in this run, which is the limit. ` +
    'Do not scroll it again. Call search_web_page to find the passage that you need, read another source, ' +
    'or answer with what you have.'
  );
}
