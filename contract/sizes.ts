/** Sizes, in one place. No zod here. */

/** Tool outputs and media parts above this are kept in the artefact store and referenced. */
export const INLINE_LIMIT_BYTES = 64 * 1024;
/** A run's whole input, after media parts became references. Temporal refuses payloads of 2 MB. */
export const INPUT_LIMIT_BYTES = 1024 * 1024;
/** Payloads above this go through external storage. */
export const EXTERNAL_STORAGE_THRESHOLD_BYTES = 128 * 1024;
/** One page of a query, in UTF-16 code units: below the threshold, or each read would write a blob. */
export const PAGE_CHARS = 32 * 1024;
/** What one model call may return: text, reasoning and the arguments of all its tool calls. */
export const COMPLETION_LIMIT_BYTES = 1024 * 1024;
/** What a model reads of an output that was trimmed. */
export const TRIMMED_CHARS = 8 * 1024;

/** Bytes of a string in UTF-8, counted without Node's Buffer. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
