/** A token bucket per principal. */
import { PerdureError } from '../../contract/errors.js';
import type { GatewayLimits } from './gateway-limits.js';

/** How many buckets are kept before the full ones, which say nothing, are dropped. */
const SWEEP_AT = 1_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Throws `rate_limited` where the principal has spent what it has. */
export function createRateLimit(
  { requests_per_second: rate, request_burst: burst }: GatewayLimits,
  now: () => number,
): (key: string) => void {
  const buckets = new Map<string, Bucket>();
  // A clock that is set back must not take what a principal has.
  const filled = ({ tokens, at }: Bucket) => Math.min(burst, tokens + (Math.max(0, now() - at) / 1_000) * rate);

  function sweep(): void {
    for (const [key, bucket] of buckets) if (filled(bucket) >= burst) buckets.delete(key);
  }

  return (key) => {
    if (buckets.size >= SWEEP_AT) sweep();
    const tokens = filled(buckets.get(key) ?? { tokens: burst, at: now() });
    const taken = tokens >= 1;
    buckets.set(key, { tokens: taken ? tokens - 1 : tokens, at: now() });
    if (taken) return;
    const what = `more than ${rate} requests a second, or ${burst} at once, came with this credential`;
    throw new PerdureError('rate_limited', what, { retry_after_ms: ((1 - tokens) / rate) * 1_000 });
  };
}
