/**
 * A digest of a conversation that grows by one message at a time. It guards against a cache that holds
 * something else than the workflow does; it is no protection against an adversary. Two 32-bit lanes in plain
 * arithmetic, since the workflow sandbox has no crypto.
 */

export const EMPTY_DIGEST = '0000000000000000';

export function extendDigest(digest: string, text: string): string {
  let a = Number.parseInt(digest.slice(0, 8), 16) ^ 0x9e3779b9;
  let b = Number.parseInt(digest.slice(8), 16) ^ 0x85ebca6b;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b + unit, 0x5bd1e995);
    b ^= b >>> 15;
  }
  a = Math.imul(a ^ text.length, 0x01000193) ^ (b >>> 13);
  b = Math.imul(b ^ text.length, 0x5bd1e995) ^ (a >>> 11);
  return hex(a) + hex(b);
}

export function digestOf(text: string): string {
  return extendDigest(EMPTY_DIGEST, text);
}

/** Of a conversation, or of what comes after the part whose digest is given. */
export function digestOfAll(messages: readonly object[], before = EMPTY_DIGEST): string {
  return messages.reduce<string>((digest, message) => extendDigest(digest, JSON.stringify(message)), before);
}

function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0');
}
