/**
 * An artefact as an answer: found in the run's log, and sent as it is stored.
 *
 * A1  Only what this run's own log names, as the profile shows it: an id is no key, whoever has it.
 * A2  It is a download, whatever it is: no browser shows it as a page of this origin.
 */
import type { Runs } from '../client/index.js';
import { scopeOf } from '../contract/artefacts.js';
import type { ArtefactInfo, Artefacts, ArtefactStore } from '../contract/artefacts.js';
import { PerdureError } from '../contract/errors.js';
import type { StreamEvent } from '../contract/live-events.js';
import type { StreamProfile } from '../contract/profiles.js';
import { readRange } from './byte-range.js';
import { artefactIn, showsFiles } from '../client/dress-events.js';

const PIECE_BYTES = 256 * 1024;
export const ANY_TYPE = 'application/octet-stream';
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w-]+=[\w-]+)*$/;

interface NamedArtefact {
  filename: string;
  /** As the store has it if absent. */
  media_type?: string;
}

interface Source {
  runs: Runs;
  artefacts: Pick<ArtefactStore, 'of' | 'unscoped'>;
}

export const ARTEFACT_REPLIES = {
  200: { description: 'The bytes, as a download of the file’s media type.', types: [ANY_TYPE] },
  206: { description: 'The range that was asked for.', types: [ANY_TYPE] },
  304: { description: 'The caller has it.' },
  416: { description: 'The range is beyond the end; `Content-Range` has the size.' },
};

export const ARTEFACT_HEADERS = {
  range: 'One range of bytes, like `bytes=0-1023`.',
  'if-range': 'The `ETag` that the range is of; else the whole is sent.',
  'if-none-match': 'An `ETag` that the caller has.',
};

export async function sendArtefact(
  { runs, artefacts }: Source,
  request: Request,
  { run_id, id, profile }: { run_id: string; id: string; profile: StreamProfile },
): Promise<Response> {
  const own = artefacts.of(scopeOf(run_id));
  const [named, scoped] = await Promise.all([findNamed(runs, run_id, id, profile), own.info(id)]);
  // The run's log names it, so it may be read where it was put before there were scopes.
  const info = scoped ?? (named === undefined ? undefined : await artefacts.unscoped.info(id));
  if (named === undefined || info === undefined) throw unknownArtefact(run_id, id);
  return respond(request, scoped === undefined ? artefacts.unscoped : own, named, { ...info, id });
}

export function unknownArtefact(runId: string, id: string): PerdureError {
  return new PerdureError('unknown_artefact', `run "${runId}" has no artefact "${id}"`);
}

async function findNamed(
  runs: Runs,
  runId: string,
  id: string,
  profile: StreamProfile,
): Promise<NamedArtefact | undefined> {
  const children = profile.children === 'flattened' ? 'linked' : profile.children;
  const shown = { ...profile, children };
  for await (const event of runs.stream(runId, { profile: shown, follow: false, rest_chunks: false })) {
    const named = nameIn(event, id, profile);
    if (named !== undefined) return named;
  }
  return undefined;
}

function nameIn(event: StreamEvent, id: string, profile: StreamProfile): NamedArtefact | undefined {
  if (event.type === 'file_generated' && event.file_id === id && showsFiles(profile))
    return { filename: event.filename, media_type: event.mime_type };
  if (event.type === 'run_started') return mediaIn(event.input, id, 'input');
  if (event.type !== 'tool_result') return undefined;
  const { tool_call_id: call = 'output' } = event;
  if (event.output_ref?.id === id) return { filename: `${call}.txt`, media_type: 'text/plain; charset=utf-8' };
  return mediaIn(event.content, id, call);
}

/** A picture or document that was too large for the log. */
function mediaIn(
  content: Extract<StreamEvent, { type: 'run_started' }>['input'],
  id: string,
  filename: string,
): NamedArtefact | undefined {
  for (const part of typeof content === 'string' ? [] : content) {
    const url = part.type === 'image_url' ? part.image_url.url : part.type === 'document' ? part.source.data : '';
    if (artefactIn(url) === id) return { filename };
  }
  return undefined;
}

function respond(
  request: Request,
  artefacts: Pick<Artefacts, 'read'>,
  { filename, ...named }: NamedArtefact,
  { id, byte_size: size, ...info }: ArtefactInfo,
): Response {
  const { media_type = info.media_type } = named;
  const etag = `"${id}"`;
  const headers = new Headers({
    etag,
    // It never changes, but who may have it does.
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    'content-security-policy': "default-src 'none'; sandbox",
  });
  if (isNamedIn(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  const condition = request.headers.get('if-range');
  const range = condition !== null && condition !== etag ? undefined : readRange(request.headers.get('range'), size);
  if (range === 'unsatisfiable') {
    headers.set('content-range', `bytes */${size}`);
    return new Response(null, { status: 416, headers });
  }
  const { start, end } = range ?? { start: 0, end: size };
  headers.set('content-type', MEDIA_TYPE.test(media_type) ? media_type : ANY_TYPE);
  headers.set('content-disposition', disposition(filename));
  headers.set('content-length', String(end - start));
  if (range !== undefined) headers.set('content-range', `bytes ${start}-${end - 1}/${size}`);
  const body = request.method === 'HEAD' ? null : pieces(artefacts, id, start, end);
  return new Response(body, { status: range === undefined ? 200 : 206, headers });
}

/** As much in memory as is being sent. */
function pieces(artefacts: Pick<Artefacts, 'read'>, id: string, start: number, end: number): ReadableStream {
  let at = start;
  return new ReadableStream({
    async pull(controller) {
      if (at >= end) return controller.close();
      const piece = await artefacts.read(id, at, Math.min(at + PIECE_BYTES, end));
      if (piece.length === 0) throw new Error(`artefact ${id} ends at ${at}, and should at ${end}`);
      at += piece.length;
      controller.enqueue(piece);
    },
  });
}

function isNamedIn(header: string | null, etag: string): boolean {
  const named = (header ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}

/** RFC 6266: a plain name for all, and the true one in UTF-8 for those that read it. Never a path. */
function disposition(filename: string): string {
  const name = filename.split(/[/\\]/).at(-1) || 'file';
  const plain = name.replaceAll(/[^\w .()+-]/g, '_');
  const encoded = encodeURIComponent(name.replaceAll(/\p{Surrogate}/gu, '\ufffd')).replaceAll(
    /['()*!]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
