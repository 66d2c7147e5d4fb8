/** Bytes to text: by a byte order mark, else by the header, else by what the document says of itself, else as UTF-8. */
import type { FetchedPage } from '../fetch/fetch-page.js';

const DECLARED_WITHIN_BYTES = 1_024;

export function decodeText({ bytes, charset, format }: Pick<FetchedPage, 'bytes' | 'charset' | 'format'>): string {
  const label =
    byteOrderMark(bytes) ?? charset ?? (format === 'html' || format === 'xml' ? declared(bytes) : undefined);
  return decode(bytes, label);
}

function byteOrderMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : undefined;
}

function declared(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, DECLARED_WITHIN_BYTES).toString('latin1');
  const found =
    /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head) ?? /^<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)/i.exec(head);
  // A document that could be read so far is not UTF-16, whatever it says.
  return found?.[1]?.toLowerCase().startsWith('utf-16') === true ? 'utf-8' : found?.[1];
}

function decode(bytes: Buffer, label: string | undefined): string {
  try {
    return new TextDecoder(label ?? 'utf-8').decode(bytes);
  } catch {
    // An unknown label: what cannot be read as UTF-8 is marked in the text, and the rest is legible.
    return new TextDecoder('utf-8').decode(bytes);
  }
}
