/**
 * Bytes under a name: files in a folder, or objects in a bucket.
 *
 * O1  What has a name has it for good: it is written once, whole, and whoever writes it again leaves it as it is.
 * O2  A name is made here, of letters, digits, `_`, `.` and `/`, never of what somebody says.
 */

export interface Range {
  start: number;
  /** Exclusive; the last byte is within the object, or it is its end. */
  end: number;
}

export interface Objects {
  /** Where they are, for messages. */
  readonly place: string;
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Undefined where there is none. Of a range, less where the object is shorter. */
  get(name: string, range?: Range): Promise<Uint8Array | undefined>;
  has(name: string): Promise<boolean>;
  /** Nothing where there is nothing. */
  copy(from: string, to: string): Promise<void>;
}

/** Those of another place are found too: it was used before this one. Nothing is written there. */
export function withOlder(objects: Objects, older: Objects): Objects {
  return {
    ...objects,
    get: async (name, range) => (await objects.get(name, range)) ?? (await older.get(name, range)),
    has: async (name) => (await objects.has(name)) || (await older.has(name)),
    async copy(from, to) {
      if (await objects.has(from)) return objects.copy(from, to);
      const bytes = await older.get(from);
      if (bytes !== undefined) await objects.put(to, bytes);
    },
  };
}
