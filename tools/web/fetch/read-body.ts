/** The bytes of a reply: never more than the limits, before and after decompression. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { ToolError } from '../../../kit/tool-error.js';

export interface BodyLimits {
  /** On the wire. */
  max_bytes: number;
  /** After decompression. */
  max_text_bytes: number;
}

/** Text rarely shrinks to less than a fiftieth; what does by far more is made to fill a memory. */
const MAX_RATIO = 200;
/** Small replies may be as repetitive as they like. */
const RATIO_FLOOR_BYTES = 512 * 1024;

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip) as Decoder,
  'x-gzip': promisify(gunzip) as Decoder,
  br: promisify(brotliDecompress) as Decoder,
  // The specification means zlib's format; some servers send the bare stream.
  deflate: (bytes, options) =>
    promisify(((bytes[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw)(bytes, options) as Promise<Buffer>,
};

export const ACCEPT_ENCODING = 'gzip, deflate, br';

export async function readBody(
  body: AsyncIterable<Buffer>,
  headers: { encoding: string; length: number | undefined },
  limits: BodyLimits,
): Promise<Buffer> {
  const encoding = headers.encoding.trim().toLowerCase();
  const decoder = DECODERS[encoding];
  if (decoder === undefined && encoding !== '' && encoding !== 'identity')
    throw new ToolError('unavailable', `The reply is encoded as "${encoding.slice(0, 40)}", which cannot be read.`);
  if ((headers.length ?? 0) > limits.max_bytes) throw tooLarge(limits.max_bytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limits.max_bytes) throw tooLarge(limits.max_bytes);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (decoder === undefined || bytes.length === 0) return checkText(bytes, limits);
  return decompress(decoder, bytes, limits);
}

async function decompress(decoder: Decoder, bytes: Buffer, limits: BodyLimits): Promise<Buffer> {
  const byRatio = Math.max(RATIO_FLOOR_BYTES, bytes.length * MAX_RATIO);
  const maxOutputLength = Math.min(limits.max_text_bytes, byRatio);
  try {
    return await decoder(bytes, { maxOutputLength });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE')
      throw new ToolError('unavailable', 'The reply is compressed, and damaged.', { cause: error });
    throw new ToolError(
      'unavailable',
      `The reply grows from ${bytes.length} bytes to more than ${maxOutputLength} when decompressed, which is the limit.`,
    );
  }
}

function checkText(bytes: Buffer, limits: BodyLimits): Buffer {
  if (bytes.length > limits.max_text_bytes) throw tooLarge(limits.max_text_bytes);
  return bytes;
}

function tooLarge(limit: number): ToolError {
  return new ToolError(
    'unavailable',
    `The reply is larger than ${limit} bytes, which is the limit. Use another source.`,
  );
}
