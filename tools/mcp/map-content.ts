/**
 * What an MCP tool returned, as a model here reads it: texts and images are parts of a message; what there is no part
 * for becomes a file of the run and is named in a text. What is more than anyone can use is left out, and the text says
 * how much that is.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { INLINE_LIMIT_BYTES } from '../../contract/sizes.js';
import type { ImagePart, TextPart } from '../../contract/messages.js';
import type { ToolContext } from '../../kit/define-tool.js';
import { cleanFile } from '../file-names.js';

export const CallResult = z.object({
  content: z.array(z.looseObject({ type: z.string() })).nullish(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish(),
});
export type CallResult = z.infer<typeof CallResult>;

type Block = NonNullable<CallResult['content']>[number];
type Part = TextPart | ImagePart;
type Files = Pick<ToolContext, 'file'>;

const IMAGES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

const MOST_NAME_CHARS = 500;
/** Of one result. A whole answer has 16 MiB at most. */
const MOST = { blocks: 500, images: 20, image_bytes: 8 * 1024 * 1024, files: 32, file_bytes: 12 * 1024 * 1024 };

/** One text where there are only texts. */
export async function toContent(result: CallResult, context: Files): Promise<string | Part[]> {
  const blocks = result.content ?? [];
  const parts: Part[] = [];
  const room = createRoom(context);
  for (const block of blocks.slice(0, MOST.blocks)) parts.push(await toPart(block, room));
  if (blocks.length > MOST.blocks) parts.push(text(`[${blocks.length - MOST.blocks} more parts were left out]`));
  const { structuredContent: structured } = result;
  if (structured !== undefined && structured !== null && !blocks.some((block) => says(block, structured))) {
    parts.push(text(JSON.stringify(structured)));
  }
  const joined = joinTexts(parts);
  const [first] = joined;
  if (first === undefined) return '';
  return joined.length === 1 && first.type === 'text' ? first.text : joined;
}

/** Together, so that the limit on outputs is one on all of them: where they are long, also across the images. */
function joinTexts(parts: readonly Part[]): Part[] {
  const texts = parts.filter((part) => part.type === 'text');
  const isLong = texts.reduce((sum, part) => sum + Buffer.byteLength(part.text), 0) > INLINE_LIMIT_BYTES;
  const ordered = isLong ? [...texts, ...parts.filter((part) => part.type !== 'text')] : parts;
  const joined: (ImagePart | string[])[] = [];
  for (const part of ordered) {
    const last = joined.at(-1);
    if (part.type !== 'text') joined.push(part);
    else if (Array.isArray(last)) last.push(part.text);
    else joined.push([part.text]);
  }
  return joined.map((each) => (Array.isArray(each) ? text(each.join('\n\n')) : each));
}

/** What there is still room for, in files and images. */
interface Room {
  takesImage(base64: string): boolean;
  /** Keeps a file, and tells of it. */
  keep(name: string, base64: string, mimeType: unknown): Promise<Part>;
}

function createRoom(context: Files): Room {
  const used = { images: 0, image_bytes: 0, files: 0, file_bytes: 0 };
  return {
    takesImage(base64) {
      const bytes = Math.floor((base64.length * 3) / 4);
      if (used.images === MOST.images || used.image_bytes + bytes > MOST.image_bytes) return false;
      used.images += 1;
      used.image_bytes += bytes;
      return true;
    },
    async keep(name, base64, mimeType) {
      const content = Buffer.from(base64, 'base64');
      const type = typeof mimeType === 'string' ? mimeType : '';
      const file = cleanFile(filenameOf(name, type), type);
      const what = `${shown(name)}: ${file.mime_type}, ${content.byteLength} bytes`;
      used.files += 1;
      used.file_bytes += content.byteLength;
      if (used.files > MOST.files || used.file_bytes > MOST.file_bytes) {
        return text(`[${what}, left out: a result may have ${MOST.files} files and ${MOST.file_bytes} bytes in them]`);
      }
      const { file_id } = await context.file({ ...file, content });
      return text(`[${what}, kept as file ${file_id}]`);
    },
  };
}

async function toPart(block: Block, room: Room): Promise<Part> {
  const { type, mimeType, data } = block;
  if (type === 'text' && typeof block['text'] === 'string') return text(block['text']);
  if (type === 'image' && typeof data === 'string') {
    const media_type = IMAGES.find((known) => known === mimeType);
    if (media_type !== undefined) {
      if (!room.takesImage(data)) return text(`[an image, left out: a result may have ${MOST.images} images]`);
      return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}`, media_type } };
    }
  }
  if ((type === 'image' || type === 'audio') && typeof data === 'string') return room.keep(type, data, mimeType);
  if (type === 'resource_link') return text(linkText(block));
  if (type === 'resource') return resourcePart(block, room);
  return text(`[content of the type "${type}": ${JSON.stringify(block)}]`);
}

async function resourcePart(block: Block, room: Room): Promise<Part> {
  const resource = (block['resource'] ?? {}) as { uri?: unknown; mimeType?: unknown; text?: unknown; blob?: unknown };
  const name = `resource ${word(resource.uri)}`.trim();
  if (typeof resource.text === 'string') return text(`[${name}]\n${resource.text}`);
  if (typeof resource.blob === 'string') return room.keep(name, resource.blob, resource.mimeType);
  return text(`[${name}: ${JSON.stringify(resource)}]`);
}

/** The last part of an address, or what it is with the type's own ending. */
function filenameOf(name: string, mimeType: string): string {
  const [last = ''] = name
    .slice(0, MOST_NAME_CHARS)
    .replace(/[?#].*$/, '')
    .split(/[/\\:]/)
    .slice(-1);
  if (/\.\w+$/.test(last)) return last;
  const ending = /^[\w.-]+\/(?:x-)?([a-z0-9]+)/i.exec(mimeType)?.[1] ?? 'bin';
  return `${last.replaceAll(/\W+/g, '_') || 'file'}.${ending}`;
}

function linkText(block: Block): string {
  const { uri, name, title, description, mimeType, size } = block;
  const about = [title, description, mimeType, typeof size === 'number' ? `${size} bytes` : undefined];
  const known = about.map(word).filter((given) => given !== '');
  return `[resource ${word(name)}: ${word(uri)}${known.length === 0 ? '' : ` (${known.join('; ')})`}]`;
}

/** Of an address, which may be as long as the server likes. */
function shown(name: string): string {
  return name.length <= MOST_NAME_CHARS ? name : `${name.slice(0, MOST_NAME_CHARS)}…`;
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Servers repeat their structured content as a text, for clients that know no other. */
function says(block: Block, structured: unknown): boolean {
  if (block.type !== 'text' || typeof block['text'] !== 'string') return false;
  try {
    return isDeepStrictEqual(JSON.parse(block['text']), structured);
  } catch {
    return false;
  }
}

function text(value: string): TextPart {
  return { type: 'text', text: value };
}
