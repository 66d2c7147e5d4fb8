/**
 * What an MCP tool returned, as a model here reads it: texts and images are parts of a message; what there is no part
 * for becomes a file of the run and is named in a text. Nothing is dropped.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ImagePart, TextPart } from '../../contract/messages.js';
import type { ToolContext } from '../../kit/define-tool.js';

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

/** One text where there are only texts. */
export async function toContent(result: CallResult, files: Files): Promise<string | Part[]> {
  const blocks = result.content ?? [];
  const parts: Part[] = [];
  const add = (part: Part) => {
    const last = parts.at(-1);
    // Together, so that the limit on outputs is one on all of them.
    if (part.type === 'text' && last?.type === 'text') last.text += `\n\n${part.text}`;
    else parts.push(part);
  };
  for (const block of blocks) add(await toPart(block, files));
  const { structuredContent: structured } = result;
  if (structured !== undefined && structured !== null && !blocks.some((block) => says(block, structured))) {
    add(text(JSON.stringify(structured)));
  }
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && first.type === 'text' ? first.text : parts;
}

async function toPart(block: Block, files: Files): Promise<Part> {
  const { type, mimeType, data } = block;
  if (type === 'text' && typeof block['text'] === 'string') return text(block['text']);
  if (type === 'image' && typeof data === 'string') {
    const media_type = IMAGES.find((known) => known === mimeType);
    if (media_type !== undefined) {
      return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}`, media_type } };
    }
  }
  if ((type === 'image' || type === 'audio') && typeof data === 'string') return keep(type, data, mimeType, files);
  if (type === 'resource_link') return text(linkText(block));
  if (type === 'resource') return resourcePart(block, files);
  return text(`[content of the type "${type}": ${JSON.stringify(block)}]`);
}

async function resourcePart(block: Block, files: Files): Promise<Part> {
  const resource = (block['resource'] ?? {}) as { uri?: unknown; mimeType?: unknown; text?: unknown; blob?: unknown };
  const name = `resource ${word(resource.uri)}`.trim();
  if (typeof resource.text === 'string') return text(`[${name}]\n${resource.text}`);
  if (typeof resource.blob === 'string') return keep(name, resource.blob, resource.mimeType, files);
  return text(`[${name}: ${JSON.stringify(resource)}]`);
}

async function keep(name: string, base64: string, mimeType: unknown, files: Files): Promise<Part> {
  const mime_type = typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
  const content = Buffer.from(base64, 'base64');
  const { file_id } = await files.file({ filename: filenameOf(name, mime_type), mime_type, content });
  return text(`[${name}: ${mime_type}, ${content.byteLength} bytes, kept as file ${file_id}]`);
}

/** The last part of an address, or what it is with the type's own ending. */
function filenameOf(name: string, mimeType: string): string {
  const [last = ''] = name
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
