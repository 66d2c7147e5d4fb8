/** How many streams a principal has open at the same time. */
import { PerdureError } from '../../contract/errors.js';

export interface StreamSlots {
  /** The slot is free again when the returned function is called, once or more. */
  take(key: string): () => void;
}

export function createStreamSlots(limit: number, changed: (by: 1 | -1) => void): StreamSlots {
  const open = new Map<string, number>();
  return {
    take(key) {
      const count = open.get(key) ?? 0;
      if (count >= limit) {
        throw new PerdureError(
          'too_many_streams',
          `${count} streams are open with this credential, which is the limit`,
        );
      }
      open.set(key, count + 1);
      changed(1);
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        const left = (open.get(key) ?? 1) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
        changed(-1);
      };
    },
  };
}
