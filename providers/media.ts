/** Images and documents as the vendors take them: bytes with their type, or an address that the vendor fetches. */
import { readDataUrl } from '../contract/data-url.js';
import { PerdureError } from '../contract/errors.js';
import type { DocumentPart, ImagePart } from '../contract/messages.js';

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
type ImageType = (typeof IMAGE_TYPES)[number];

type Image = { media_type: ImageType; data: string } | { media_type: ImageType | undefined; url: string };

/** A data URL's own type, or the part's where that is none that is known. */
export function readImage({ image_url: { url, media_type } }: ImagePart, provider: string): Image {
  if (/^https:\/\//i.test(url)) return { url, media_type };
  const found = readDataUrl(url);
  const type = IMAGE_TYPES.find((known) => known === found?.media_type) ?? media_type;
  if (found !== undefined && type !== undefined) return { media_type: type, data: found.base64 };
  const what = `An image that begins with ${JSON.stringify(url.slice(0, 40))} cannot be sent to ${provider}: it takes https URLs, and data URLs in base64 of ${IMAGE_TYPES.join(', ')}`;
  throw new PerdureError('model_bad_request', what, { provider });
}

/** The bytes in base64, also where they came as a data URL. */
export function documentData({ source }: DocumentPart): string {
  return readDataUrl(source.data)?.base64 ?? source.data;
}
