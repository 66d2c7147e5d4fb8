/** The keys with which a deployment encrypts what it stores. Types only: no zod here. */

export interface EncryptionKey {
  /** Up to 64 letters, digits and `. _ -`; it is stored beside what the key encrypts. */
  id: string;
  /** 32 bytes, or these in base64. */
  key: Uint8Array | string;
}

/** The first one encrypts, all of them decrypt. A function is asked again now and then: for a KMS. */
export type KeySource = readonly EncryptionKey[] | (() => Promise<readonly EncryptionKey[]> | readonly EncryptionKey[]);
