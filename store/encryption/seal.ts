/**
 * AES-256-GCM with a key of its own for each thing: derived (HKDF-SHA-256) from a key of the ring and a salt beside what
 * is sealed. So there is no count of messages at which random nonces would begin to collide.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { PerdureError } from '../../contract/errors.js';
import type { RingKey } from './key-ring.js';

export const SALT_BYTES = 32;
export const TAG_BYTES = 16;
const [KEY_BYTES, NONCE_BYTES] = [32, 12];

export interface Sealing {
  /** What it is for: nothing of one purpose opens as something of another. */
  purpose: string;
  /** Which part of it, from 0. */
  part?: number;
}

/** Salt, then what is sealed, then its tag. */
export function seal(key: RingKey, plain: Uint8Array, sealing: Sealing, salt = randomBytes(SALT_BYTES)): Buffer {
  return Buffer.concat([salt, sealPart(key, salt, plain, sealing)]);
}

export function unseal(key: RingKey, sealed: Uint8Array, sealing: Sealing, what: string): Buffer {
  return unsealPart(key, sealed.subarray(0, SALT_BYTES), sealed.subarray(SALT_BYTES), sealing, what);
}

/** Without the salt, which the caller knows. The same salt must never be used for another content. */
export function sealPart(key: RingKey, salt: Uint8Array, plain: Uint8Array, sealing: Sealing): Buffer {
  const { secret, nonce } = derive(key, salt, sealing);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

export function unsealPart(key: RingKey, salt: Uint8Array, sealed: Uint8Array, sealing: Sealing, what: string): Buffer {
  const end = sealed.length - TAG_BYTES;
  try {
    const { secret, nonce } = derive(key, salt, sealing);
    const decipher = createDecipheriv('aes-256-gcm', secret, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(Math.max(0, end)));
    return Buffer.concat([decipher.update(sealed.subarray(0, Math.max(0, end))), decipher.final()]);
  } catch (error) {
    throw new PerdureError(
      'decryption_failed',
      `${what} cannot be decrypted with the key "${key.id}": it is another key of that id, or what is stored was changed`,
      { cause: error },
    );
  }
}

/** The same for the same content under the same key, and for no other: what is sealed with it is kept once. */
export function saltOf(key: RingKey, purpose: string, ...content: (string | Uint8Array)[]): Buffer {
  const secret = Buffer.from(hkdfSync('sha256', key.bytes, '', `perdure 1 salt ${purpose}`, KEY_BYTES));
  return content.reduce((hmac, piece) => hmac.update(piece), createHmac('sha256', secret)).digest();
}

function derive(key: RingKey, salt: Uint8Array, { purpose, part = 0 }: Sealing): { secret: Buffer; nonce: Buffer } {
  const info = `perdure 1 ${purpose}`;
  const made = Buffer.from(hkdfSync('sha256', key.bytes, salt, info, KEY_BYTES + NONCE_BYTES));
  const nonce = made.subarray(KEY_BYTES);
  nonce.writeUInt32BE((nonce.readUInt32BE(0) ^ part) >>> 0, 0);
  return { secret: made.subarray(0, KEY_BYTES), nonce };
}
