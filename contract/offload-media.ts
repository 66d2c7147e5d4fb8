/** At the edge, before anything is written: media parts above the inline limit move to the artefact store. No zod here. */
import type { ArtefactStore } from './artefacts.js';
import type { ContentPart } from './messages.js';
import { ARTEFACT_URL_PREFIX } from './names.js';
import { INLINE_LIMIT_BYTES } from './sizes.js';

type DecodeBase64 = (base64: string) => Uint8Array;

export async function offloadMedia<P extends ContentPart>(
  parts: readonly P[],
  artefacts: ArtefactStore,
  decode: DecodeBase64,
): Promise<P[]> {
  return Promise.all(
    parts.map(async (part): Promise<P> => {
      if (part.type === 'image_url' && part.image_url.url.length > INLINE_LIMIT_BYTES) {
        const match = /^data:([^;,]+)(?:;[^;,]+)*;base64,/.exec(part.image_url.url);
        if (match === null) return part;
        const { id } = await artefacts.put(decode(part.image_url.url.slice(match[0].length)), match[1] ?? '');
        return { ...part, image_url: { ...part.image_url, url: ARTEFACT_URL_PREFIX + id } };
      }
      if (part.type === 'document' && part.source.data.length > INLINE_LIMIT_BYTES) {
        const { id } = await artefacts.put(decode(part.source.data), part.source.media_type);
        return { ...part, source: { ...part.source, data: ARTEFACT_URL_PREFIX + id } };
      }
      return part;
    }),
  );
}
