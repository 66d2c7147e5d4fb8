/** What a vendor counted, as a whole number: compatible servers leave counts out, or send fractions. */
export function tokenCount(tokens: number | null | undefined): number {
  return Math.max(0, Math.trunc(tokens ?? 0));
}
