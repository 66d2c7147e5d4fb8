/** How an entry of a scratchpad begins: the six prefixes of `seeds/event-contract.md`. No zod here. */
export const ENTRY_PREFIXES = ['📌', '✅', '🔄', '❓', '⚠️', '☠️'] as const;

const VARIATION = /^[\ufe0e\ufe0f]/;
const bare = (prefix: string) => prefix.replace(/\ufe0f$/, '');

/**
 * The entry in the contract's form, or undefined for a text that does not begin like one. Some models leave out the
 * variation selector behind ⚠ and ☠, or put one where there is none.
 */
export function asEntry(text: string): string | undefined {
  const trimmed = text.trim();
  const prefix = ENTRY_PREFIXES.find((known) => trimmed.startsWith(bare(known)));
  if (prefix === undefined) return undefined;
  return prefix + trimmed.slice(bare(prefix).length).replace(VARIATION, '');
}
