/** Durations as people write them: milliseconds, or `250ms`, `30s`, `5m`, `2h`, `7d`. No zod here. */

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, or undefined for what is no duration. */
export function parseDuration(value: number | string): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value > 0 ? Math.ceil(value) : undefined;
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(value.trim());
  if (match === null) return undefined;
  const milliseconds = Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN);
  // Without the noise of binary fractions: 1.1 h is 3,960,000 ms, not one more.
  return parseDuration(Math.round(milliseconds * 1000) / 1000);
}
