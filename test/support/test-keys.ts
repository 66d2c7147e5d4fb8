/** The encryption keys of the tests: known, so that the histories which they leave can be replayed at the end. */
import { createHash } from 'node:crypto';
import type { EncryptionKey } from '../../contract/encryption-keys.js';

export const TEST_KEYS: readonly EncryptionKey[] = ['k1', 'k2', 'k3', 'k4'].map(testKey);

export function testKey(id: string): EncryptionKey & { key: string } {
  return { id, key: createHash('sha256').update(`a key of the tests: ${id}`).digest('base64') };
}
