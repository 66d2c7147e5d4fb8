/** `content` events, in the contract's own order. */
import { unguarded } from './guard-content.js';
import { parseLegacyStatus } from './legacy-status.js';
import type { Routed } from './routed.js';
import { ENTRY_PREFIXES } from '../../contract/scratchpad-entries.js';
import { BLEED_STRINGS, LEGACY_STATUS } from './vocabulary.js';

/** Scratchpad entries that arrive as `content` are gathered until the next one begins or the run is over. */
export interface ContentRouter {
  route(run_id: string, text: string): Routed[];
  flush(run_id: string): Routed[];
  flushAll(): Routed[];
}

export function createContentRouter(): ContentRouter {
  const open = new Map<string, string>();

  function flush(run_id: string): Routed[] {
    const entry = open.get(run_id);
    open.delete(run_id);
    if (entry === undefined) return [];
    return [{ to: 'scratchpad', run_id, operation: 'append', status: 'success', tool: null, activity: null, entry }];
  }

  return {
    route(run_id, text) {
      if (ENTRY_PREFIXES.some((prefix) => text.startsWith(prefix))) {
        const before = flush(run_id);
        open.set(run_id, text);
        return before;
      }
      const gathered = open.get(run_id);
      if (gathered !== undefined) {
        open.set(run_id, gathered + text);
        return [];
      }
      if (text.startsWith(LEGACY_STATUS)) return [{ to: 'web_status', run_id, ...parseLegacyStatus(text) }];
      if (isBleed(text) || text === '') return [];
      return [{ to: 'chat', run_id, text: unguarded(text) }];
    },
    flush,
    flushAll: () => [...open.keys()].flatMap(flush),
  };
}

/** Two of the strings end in a colon and are followed by more, so a text matches by how it begins. */
function isBleed(text: string): boolean {
  const start = text.trimStart();
  return BLEED_STRINGS.some((bleed) => start.startsWith(bleed));
}
