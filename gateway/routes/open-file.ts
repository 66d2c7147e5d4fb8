/** `GET /v1/files/{run}/{artefact}`: an address that a stream gave out, which is its own credential. */
import { z } from 'zod';
import { ARTEFACT_HEADERS, ARTEFACT_REPLIES, sendArtefact, unknownArtefact } from '../artefact-response.js';
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import { EVERYTHING } from '../principal.js';
import { defineRoute } from '../route.js';
import type { RouteTools } from '../route.js';

export const openFile = defineRoute({
  operation: 'openFile',
  method: 'GET',
  path: '/v1/files/{run}/{artefact}',
  summary:
    'A file or a picture of a run, by an address that the gateway has signed: for a while, and without a credential.',
  access: 'open',
  query: z.strictObject({
    expires: z.string().regex(/^[1-9]\d{0,11}$/, 'must be a time in seconds'),
    signature: z.string().max(100),
    org: z.string().max(200).optional(),
  }),
  headers: ARTEFACT_HEADERS,
  replies: ARTEFACT_REPLIES,
  errors: ['link_refused', 'unknown_artefact', 'server_unreachable'],
  async handle({ tools, request, params, query: { expires, signature, org = '' } }) {
    const { run = '', artefact = '' } = params;
    const problem =
      tools.files === undefined
        ? 'this gateway gives out none'
        : tools.files.problemOf({ run, artefact, org, expires: Number(expires), signature });
    if (problem !== undefined) throw new PerdureError('link_refused', `the address opens nothing: ${problem}`);
    // Signed once, and the run may be gone since, and its id another's.
    if ((await ownerOf(tools, run)) !== org) throw unknownArtefact(run, artefact);
    const response = await sendArtefact(tools, request, { run_id: run, id: artefact, profile: EVERYTHING });
    response.headers.set('referrer-policy', 'no-referrer');
    return response;
  },
});

/** Undefined where there is no such run. */
async function ownerOf({ orgOf }: RouteTools, run: string): Promise<string | undefined> {
  try {
    return await orgOf(run);
  } catch (error) {
    if (isPerdureError(error) && error.code === 'unknown_run') return undefined;
    throw error;
  }
}
