/** `GET /v1/runs/{run_id}/artefacts/{artefact}`: a file that the run made, or what was too large for its log. */
import { z } from 'zod';
import { ARTEFACT_HEADERS, ARTEFACT_REPLIES, sendArtefact } from '../artefact-response.js';
import { chooseProfile } from '../principal.js';
import { defineRunRoute } from '../route.js';

export const readArtefact = defineRunRoute({
  operation: 'readArtefact',
  method: 'GET',
  path: '/v1/runs/{run_id}/artefacts/{artefact}',
  summary: 'A file that a run made, or the whole of an output or a picture that its log holds in part.',
  access: 'runs:read',
  query: z.strictObject({ profile: z.string().optional() }),
  headers: ARTEFACT_HEADERS,
  replies: ARTEFACT_REPLIES,
  errors: ['forbidden', 'unknown_artefact'],
  handle({ tools, principal, request, query, run: { run_id } }) {
    const profile = chooseProfile(tools.catalog, principal, query.profile);
    // Made of letters, digits, `_` and a dot: what is encoded is none.
    const id = new URL(request.url).pathname.split('/').at(-1) ?? '';
    return sendArtefact(tools, request, { run_id, id, profile });
  },
});
