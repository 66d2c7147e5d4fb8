/**
 * The schemas of results, as the server last listed them. A run is not pinned to them: a result is what the server
 * makes now, and is checked by what it says now. A worker that has not listed the server's tools yet does so once.
 */
import type { ListedTool } from './list-tools.js';

export interface OutputSchemas {
  note(listed: readonly ListedTool[]): void;
  of(name: string, signal: AbortSignal): Promise<unknown>;
}

export function createOutputSchemas(list: (signal: AbortSignal) => Promise<ListedTool[]>): OutputSchemas {
  let known: Map<string, unknown> | undefined;
  const note = (listed: readonly ListedTool[]) =>
    (known = new Map(listed.map(({ name, outputSchema }) => [name, outputSchema])));
  return {
    note,
    async of(name, signal) {
      try {
        return (known ?? note(await list(signal))).get(name);
      } catch {
        // Its tools cannot be listed just now: that is no reason to refuse what one of them gave.
        signal.throwIfAborted();
        return undefined;
      }
    },
  };
}
