/** From what a tool returned to what the model reads: large outputs are kept whole in the store and trimmed here. */
import type { Artefacts } from '../contract/artefacts.js';
import { offloadMedia, refersToStore } from '../contract/offload-media.js';
import type { ToolContent, ToolOutputRef } from '../contract/messages.js';
import { ARTEFACT_URL_PREFIX, READ_OUTPUT_TOOL } from '../contract/names.js';
import { INLINE_LIMIT_BYTES, TRIMMED_CHARS } from '../contract/sizes.js';
import type { ToolReturn } from '../kit/define-tool.js';
import { ToolError } from '../kit/tool-error.js';
import { isValued } from '../kit/with-value.js';

export interface ToolOutput {
  content: ToolContent;
  /** What the text is the JSON of. */
  value?: unknown;
  output_ref?: ToolOutputRef;
  trimmed?: true;
}

type Parts = Exclude<ToolContent, string>;

export async function toToolOutput(value: ToolReturn, artefacts: Artefacts): Promise<ToolOutput> {
  if (isValued(value)) return { ...(await toToolOutput(value.content, artefacts)), ...smallValue(value.value) };
  if (typeof value === 'string' || value === undefined) return trimText(value ?? '', artefacts);
  if (!isParts(value)) {
    const text = asText(value);
    const output = await trimText(text, artefacts);
    // As the text has it, so that nobody reads here what JSON cannot say.
    return output.trimmed === true || text === '' ? output : { ...output, value: JSON.parse(text) as unknown };
  }
  await checkReferences(value, artefacts);
  return trimParts(await offloadMedia(value, artefacts, (base64) => Buffer.from(base64, 'base64')), artefacts);
}

/** The limit is one on all texts together. Where they are longer, they become one text before the images, and one output. */
async function trimParts(parts: Parts, artefacts: Artefacts): Promise<ToolOutput> {
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text, 'utf8'), 0);
  if (bytes <= INLINE_LIMIT_BYTES) return { content: parts.map(plainPart) };
  const { content, ...reference } = await trimText(texts.join('\n\n'), artefacts);
  const images = parts.filter((part) => part.type !== 'text');
  return { ...reference, content: [{ type: 'text', text: content as string }, ...images] };
}

function plainPart(part: Parts[number]): Parts[number] {
  return part.type === 'text' ? { type: 'text', text: part.text } : part;
}

/** What a person or the caller gave: as a value too, where it was one and there is room for it. */
export async function keepOutput(
  { text, is_json }: { text: string; is_json?: true },
  artefacts: Artefacts,
): Promise<ToolOutput> {
  const output = await trimText(text, artefacts);
  return output.trimmed === true || is_json !== true ? output : { ...output, value: JSON.parse(text) as unknown };
}

/** What a server, or a page, calls a reference is none: a tool refers to what it has put into its own run's store. */
async function checkReferences(parts: Parts, artefacts: Artefacts): Promise<void> {
  for (const part of parts.filter(refersToStore)) {
    const id = part.type === 'image_url' ? part.image_url.url.slice(ARTEFACT_URL_PREFIX.length) : '';
    if ((await artefacts.info(id)) === undefined)
      throw new ToolError('malformed_result', 'The tool returned a picture that refers to what is not in the store.');
  }
}

async function trimText(text: string, artefacts: Artefacts): Promise<ToolOutput> {
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes <= INLINE_LIMIT_BYTES) return { content: text };
  const { id } = await artefacts.put(text, 'text/plain; charset=utf-8');
  const line_count = countLines(text);
  const head = text.slice(0, Math.floor((TRIMMED_CHARS * 3) / 4));
  const tail = text.slice(text.length - Math.floor(TRIMMED_CHARS / 4));
  const offset = Buffer.byteLength(head, 'utf8');
  const notice = `[trimmed: the whole output has ${bytes} bytes and ${line_count} lines; read on with ${READ_OUTPUT_TOOL} {"output_id":"${id}","offset":${offset}}]`;
  return {
    content: `${head}\n\n${notice}\n\n${tail}`,
    output_ref: { id, byte_size: bytes, line_count },
    trimmed: true,
  };
}

/** As JSON has it; nothing where that is too large to be kept beside its text. */
function smallValue(value: unknown): { value?: unknown } {
  const text = value === undefined ? '' : asText(value as object);
  if (text === '' || Buffer.byteLength(text, 'utf8') > INLINE_LIMIT_BYTES) return {};
  return { value: JSON.parse(text) as unknown };
}

function asText(value: Exclude<ToolReturn, Parts | string | undefined>): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch (error) {
    throw new ToolError(
      'malformed_result',
      `The tool returned something that cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function isParts(value: ToolReturn): value is Parts {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((part: unknown) => {
      const { type, text, image_url } = (part ?? {}) as {
        type?: unknown;
        text?: unknown;
        image_url?: { url?: unknown };
      };
      return (
        (type === 'text' && typeof text === 'string') || (type === 'image_url' && typeof image_url?.url === 'string')
      );
    })
  );
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
