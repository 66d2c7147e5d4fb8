/** A query can fail for a moment: another one is buffered, or the workflow moves to another worker. */
import { PerdureError } from '../contract/errors.js';

export async function withRetries<T>(query: () => Promise<T>, tries = 5): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await query();
    } catch (error) {
      if (n >= tries)
        throw new PerdureError(
          'server_unreachable',
          `reading the conversation by query failed ${n} times: ${String(error)}`,
          { cause: error },
        );
      await new Promise((resolve) => setTimeout(resolve, 100 * n));
    }
  }
}
