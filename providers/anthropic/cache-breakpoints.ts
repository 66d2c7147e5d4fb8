import type Anthropic from '@anthropic-ai/sdk';

export interface Breakpoint {
  cache_control?: Anthropic.CacheControlEphemeral | null;
}

/** A request with more is refused. */
const MAX_BREAKPOINTS = 4;

/** The last ones hold the longest prefixes, and Anthropic finds the shorter ones from there by itself. */
export function keepLastBreakpoints(blocks: readonly Breakpoint[]): void {
  for (const block of blocks.slice(-MAX_BREAKPOINTS)) block.cache_control = { type: 'ephemeral' };
}
