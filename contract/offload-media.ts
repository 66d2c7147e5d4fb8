/** At the edge, before anything is written: media parts above the inline limit move to the artefact store. No zod here. */
import type { Artefacts } from './artefacts.js';
import { readDataUrl } from './data-url.js';
import type { ContentPart } from './messages.js';
import { ARTEFACT_URL_PREFIX } from './names.js';
import { INLINE_LIMIT_BYTES } from './sizes.js';

/** Whether a caller's own part refers to the store: to what, and whose, only the runtime can say. */
export function refersToStore(part: ContentPart): boolean {
  if (part.type === 'image_url') return part.image_url.url.startsWith(ARTEFACT_URL_PREFIX);
  return part.type === 'document' && part.source.data.startsWith(ARTEFACT_URL_PREFIX);
}

type DecodeBase64 = (base64: string) => Uint8Array;

export async function offloadMedia<P extends ContentPart>(
  parts: readonly P[],
  artefacts: Artefacts,
  decode: DecodeBase64,
): Promise<P[]> {
  return Promise.all(
    parts.map(async (part): Promise<P> => {
      if (part.type === 'image_url' && part.image_url.url.length > INLINE_LIMIT_BYTES) {
        const found = readDataUrl(part.image_url.url);
        if (found === undefined) return part;
        const { id } = await artefacts.put(decode(found.base64), found.media_type);
        return { ...part, image_url: { ...part.image_url, url: ARTEFACT_URL_PREFIX + id } };
      }
      if (part.type === 'document' && part.source.data.length > INLINE_LIMIT_BYTES) {
        const { data, media_type } = part.source;
        const { id } = await artefacts.put(decode(readDataUrl(data)?.base64 ?? data), media_type);
        return { ...part, source: { ...part.source, data: ARTEFACT_URL_PREFIX + id } };
      }
      return part;
    }),
  );
}
