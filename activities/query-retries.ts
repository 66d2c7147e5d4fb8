/**
 * Asks a workflow until it answers. A query can fail for a moment: another one is buffered, or the workflow moves to
 * another worker. Or it is lost, and nobody says so (docs/queries.md): so the first tries have little time each.
 */
import type { Context } from '@temporalio/activity';
import { PerdureError } from '../contract/errors.js';
import { serverReason } from '../live/server-reason.js';

/** A run that has ended is replayed for its reader, which takes as long as its log is. */
const LIMITS_MS = [1_000, 3_000, 10_000, 20_000, 20_000];

export async function withRetries<T>(
  client: Context['client'],
  what: string,
  query: () => Promise<T>,
  limits: readonly number[] = LIMITS_MS,
): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await client.withDeadline(Date.now() + (limits[n - 1] ?? 0), query);
    } catch (error) {
      if (n >= limits.length) {
        const why = serverReason(error) ?? (error instanceof Error ? error.message : String(error));
        throw new PerdureError(
          'server_unreachable',
          `${what} could not be read from the workflow, in ${n} tries: ${why}`,
          { cause: error },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 100 * n));
    }
  }
}
