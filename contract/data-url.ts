/** Data URLs in base64 (RFC 2397), as callers, tools and vendors' examples write them. No zod here. */

export interface DataUrl {
  /** In small letters; empty where it says none. Parameters, such as a charset, mean nothing of what is in base64. */
  media_type: string;
  base64: string;
}

/** Undefined where it is none, or not in base64. */
export function readDataUrl(url: string): DataUrl | undefined {
  const head = /^data:([^;,]*)(?:;[^;,]*)*?;base64,/i.exec(url);
  if (head === null) return undefined;
  const [whole, type = ''] = head;
  return { media_type: type.trim().toLowerCase(), base64: url.slice(whole.length) };
}
