/**
 * The keys of a deployment, by id. The first one encrypts, all of them decrypt: so a key is added everywhere before it
 * becomes the first, and is kept as long as there is something of it.
 *
 * Where a function gives them, as from a KMS, it is asked again now and then, and when something of an unknown key is
 * met. One that fails, gives none or does not answer leaves the keys as they were, and nobody waits for it who has one.
 */
import type { EncryptionKey, KeySource } from '../../contract/encryption-keys.js';
import { PerdureError } from '../../contract/errors.js';

export interface RingKey {
  id: string;
  bytes: Buffer;
}

export interface KeyRing {
  /** The one that encrypts. */
  current(): Promise<RingKey>;
  /** Throws `encryption_key_unknown`. */
  find(id: string): Promise<RingKey>;
}

const KEY_BYTES = 32;
const ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;
const FRESH_MS = 60_000;
/** Of an unknown key: whoever meets many of them asks once. */
const ASK_AGAIN_MS = 1_000;
const PATIENCE_MS = 10_000;

export function createKeyRing(source: KeySource, now: () => number = Date.now): KeyRing {
  let keys: readonly RingKey[] | undefined = typeof source === 'function' ? undefined : checked(source);
  if (keys?.length === 0) throw none();
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<readonly RingKey[]> | undefined;

  async function ask(get: () => Promise<readonly EncryptionKey[]> | readonly EncryptionKey[]) {
    askedAt = now();
    try {
      const found = checked(await within(PATIENCE_MS, Promise.resolve(get())));
      if (found.length === 0) throw none();
      keys = found;
    } catch (error) {
      if (keys !== undefined) return keys;
      if (error instanceof PerdureError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new PerdureError('encryption_keys_unreachable', `there are no encryption keys: ${why}`, { cause: error });
    }
    return keys;
  }

  async function known(maxAgeMs: number): Promise<readonly RingKey[]> {
    if (typeof source !== 'function') return keys ?? [];
    if (keys !== undefined && now() - askedAt < maxAgeMs) return keys;
    asking ??= ask(source).finally(() => (asking = undefined));
    return asking;
  }

  /** Whoever encrypts does not wait for a KMS while there are keys. */
  async function atHand(): Promise<readonly RingKey[]> {
    const fresh = known(FRESH_MS);
    if (keys === undefined) return fresh;
    fresh.catch(() => {});
    return keys;
  }

  return {
    async current() {
      const [first] = await atHand();
      if (first === undefined) throw none();
      return first;
    },
    async find(id) {
      const has = (ring: readonly RingKey[]) => ring.find((key) => key.id === id);
      const found = has(keys ?? []) ?? has(await known(ASK_AGAIN_MS));
      if (found !== undefined) return found;
      const others = (keys ?? []).map((key) => key.id).join(', ');
      throw unknownKey(id, others === '' ? 'there are no keys at all' : `there are only: ${others}`);
    },
  };
}

async function within<T>(milliseconds: number, given: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`the function that gives them did not answer within ${milliseconds / 1_000} s`);
    timer = setTimeout(() => reject(error), milliseconds);
  });
  try {
    return await Promise.race([given, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function unknownKey(id: string, why: string): PerdureError {
  return new PerdureError('encryption_key_unknown', `the encryption key "${id}" is not known here; ${why}`);
}

/** `id:base64,id2:base64`, as the environment has it. Errors never repeat a key. */
export function parseKeys(text: string): EncryptionKey[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry, n) => {
      const [id = '', key, ...rest] = entry.split(':');
      if (key === undefined || rest.length > 0)
        throw invalid(`entry ${n + 1} is not like id:base64, where the key has 32 bytes`);
      return { id, key };
    });
}

function checked(keys: readonly EncryptionKey[]): readonly RingKey[] {
  if (!Array.isArray(keys)) throw none();
  const ring = keys.map(({ id, key }, n) => {
    if (typeof id !== 'string' || !ID_PATTERN.test(id))
      throw invalid(`the id of key ${n + 1} must have 1 to 64 letters, digits and . _ -`);
    const bytes = typeof key === 'string' ? fromBase64(key) : Buffer.from(key);
    if (bytes?.length !== KEY_BYTES)
      throw invalid(`the key "${id}" must have ${KEY_BYTES} bytes, in base64: make one by openssl rand -base64 32`);
    return { id, bytes };
  });
  const twice = ring.find(({ id }, n) => ring.findIndex((other) => other.id === id) !== n);
  if (twice !== undefined) throw invalid(`the key "${twice.id}" is there twice`);
  return ring;
}

/** Undefined for what is none: Node skips what it does not know. */
function fromBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

function none(): PerdureError {
  return invalid('there is none: give at least one, or leave encryption out');
}

function invalid(what: string): PerdureError {
  return new PerdureError('invalid_config', `encryption keys: ${what}`);
}
