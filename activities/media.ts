/** Media parts: large ones become references to the artefact store; a model gets the data back. */
import type { Artefacts } from '../contract/artefacts.js';
import type { BaseMessage, ContentPart } from '../contract/messages.js';
import { ARTEFACT_URL_PREFIX } from '../contract/names.js';

/** The same messages with the data of every referenced part. */
export async function loadMedia(messages: readonly BaseMessage[], artefacts: Artefacts): Promise<BaseMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (typeof message.content !== 'object' || message.content === null) return message;
      const content = await Promise.all(message.content.map((part) => loadPart(part, artefacts)));
      return { ...message, content } as BaseMessage;
    }),
  );
}

async function loadPart(part: ContentPart, artefacts: Artefacts): Promise<ContentPart> {
  if (part.type === 'image_url' && part.image_url.url.startsWith(ARTEFACT_URL_PREFIX)) {
    const { media_type, base64 } = await load(part.image_url.url, artefacts);
    return { ...part, image_url: { ...part.image_url, url: `data:${media_type};base64,${base64}` } };
  }
  if (part.type === 'document' && part.source.data.startsWith(ARTEFACT_URL_PREFIX)) {
    const { base64 } = await load(part.source.data, artefacts);
    return { ...part, source: { ...part.source, data: base64 } };
  }
  return part;
}

async function load(reference: string, artefacts: Artefacts) {
  const id = reference.slice(ARTEFACT_URL_PREFIX.length);
  const bytes = await artefacts.read(id);
  const info = await artefacts.info(id);
  return { media_type: info?.media_type ?? 'application/octet-stream', base64: Buffer.from(bytes).toString('base64') };
}
