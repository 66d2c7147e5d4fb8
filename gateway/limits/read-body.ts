/** The body of a request, as JSON, never more of it than allowed. */
import { PerdureError } from '../../contract/errors.js';
import { BODY_VALUES } from '../../contract/sizes.js';

/** No request of ours is nearly so deep; a JSON schema of a client tool may be, a little. */
const DEEPEST = 200;

/** Undefined where there is none. */
export async function readBody(request: Request, limit: number): Promise<unknown> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit);
  const bytes = await readAll(request, limit);
  if (bytes.byteLength === 0) return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    const given = type === '' ? 'no Content-Type' : 'another Content-Type than JSON';
    throw new PerdureError('unsupported_media_type', `the body came with ${given}`);
  }
  const body = parse(bytes);
  checkExtent(body);
  return body;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (error) {
    throw invalid('is no JSON in UTF-8', error);
  }
}

/** Level by level: what calls itself for each one, as all who read the body later do, runs out of stack. */
function checkExtent(body: unknown): void {
  let level = [body];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) throw invalid(`is nested more than ${DEEPEST} levels deep`);
    values += level.length;
    if (values > BODY_VALUES) throw tooMany();
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
}

function invalid(message: string, cause?: unknown): PerdureError {
  return new PerdureError('invalid_request', `the body ${message}`, { issues: [{ path: 'body', message }], cause });
}

/** A length that is promised may be missing or wrong, so what comes is counted. */
async function readAll(request: Request, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooMany(): PerdureError {
  const message = `holds more than ${BODY_VALUES} values`;
  return new PerdureError('input_too_large', `the body ${message}`, { issues: [{ path: 'body', message }] });
}

function tooLarge(limit: number): PerdureError {
  return new PerdureError('input_too_large', `the body is larger than ${limit} bytes`);
}
