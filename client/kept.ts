/** Things that are kept for whoever asks next, up to a size; those that nobody has asked for longest go first. */

export interface Kept<T> {
  get(key: string): T | undefined;
  put(key: string, value: T): T;
  /** How large it is now. */
  measure(key: string, size: number): void;
  drop(key: string): void;
}

export function createKept<T>(most: number): Kept<T> {
  const entries = new Map<string, { value: T; size: number }>();
  let total = 0;

  function drop(key: string): void {
    total -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  }

  return {
    drop,
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    put(key, value) {
      drop(key);
      entries.set(key, { value, size: 0 });
      return value;
    },
    measure(key, size) {
      const entry = entries.get(key);
      if (entry === undefined) return;
      total += size - entry.size;
      entry.size = size;
      for (const [oldest, { size: freed }] of entries) {
        if (total <= most) return;
        entries.delete(oldest);
        total -= freed;
      }
    },
  };
}
