/**
 * `GET /v1/runs/{run_id}/artefacts/{artefact}`: a file that the run made, or an output that was too long for its log.
 *
 * A1  Only what this run's own log names, as the caller's profile shows it: an id is no key, whoever has it.
 * A2  It is a download, whatever it is: no browser shows it as a page of this origin.
 */
import { z } from 'zod';
import type { Runs } from '../../client/index.js';
import type { ArtefactStore } from '../../contract/artefacts.js';
import { PerdureError } from '../../contract/errors.js';
import { resolveProfile } from '../../contract/profiles.js';
import type { StreamProfile } from '../../contract/profiles.js';
import { showsFiles } from '../artefact-url.js';
import { readRange } from '../byte-range.js';
import { chooseProfile } from '../principal.js';
import { defineRunRoute } from '../route.js';

const PIECE_BYTES = 256 * 1024;
const ANY_TYPE = 'application/octet-stream';
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w-]+=[\w-]+)*$/;

interface NamedArtefact {
  filename: string;
  media_type: string;
}

export const readArtefact = defineRunRoute({
  operation: 'readArtefact',
  method: 'GET',
  path: '/v1/runs/{run_id}/artefacts/{artefact}',
  summary: 'A file that a run made, or the whole of an output that its log holds in part.',
  access: 'member',
  query: z.strictObject({ profile: z.string().optional() }),
  headers: {
    range: 'One range of bytes, like `bytes=0-1023`.',
    'if-range': 'The `ETag` that the range is of; else the whole is sent.',
    'if-none-match': 'An `ETag` that the caller has.',
  },
  replies: {
    200: { description: 'The bytes, as a download of the file’s media type.', types: [ANY_TYPE] },
    206: { description: 'The range that was asked for.', types: [ANY_TYPE] },
    304: { description: 'The caller has it.' },
    416: { description: 'The range is beyond the end; `Content-Range` has the size.' },
  },
  errors: ['forbidden', 'unknown_artefact'],
  async handle({ tools, principal, request, query, run: { run_id } }) {
    const profile = resolveProfile(chooseProfile(principal, query.profile));
    // Made of letters, digits and `_`: what is encoded is none.
    const id = new URL(request.url).pathname.split('/').at(-1) ?? '';
    const [named, info] = await Promise.all([findNamed(tools.runs, run_id, id, profile), tools.artefacts.info(id)]);
    if (named === undefined || info === undefined)
      throw new PerdureError('unknown_artefact', `run "${run_id}" has no artefact "${id}"`);
    return respond(request, tools.artefacts, { ...named, id, size: info.byte_size });
  },
});

async function findNamed(
  runs: Runs,
  runId: string,
  id: string,
  profile: StreamProfile,
): Promise<NamedArtefact | undefined> {
  const children = profile.children === 'flattened' ? 'linked' : profile.children;
  for await (const event of runs.stream(runId, { profile: { ...profile, children }, follow: false })) {
    if (event.type === 'file_generated' && event.file_id === id && showsFiles(profile))
      return { filename: event.filename, media_type: event.mime_type };
    if (event.type === 'tool_result' && event.output_ref?.id === id)
      return { filename: `${event.tool_call_id ?? 'output'}.txt`, media_type: 'text/plain; charset=utf-8' };
  }
  return undefined;
}

function respond(
  request: Request,
  artefacts: Pick<ArtefactStore, 'read'>,
  { id, size, filename, media_type }: NamedArtefact & { id: string; size: number },
): Response {
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
function pieces(artefacts: Pick<ArtefactStore, 'read'>, id: string, start: number, end: number): ReadableStream {
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
