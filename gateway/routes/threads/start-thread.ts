/** `POST /v1/ai/threads`: starts a thread. */
import { PerdureError } from '../../../contract/errors.js';
import { checkCatalog } from '../../check-catalog.js';
import { data, dataOf } from '../../envelope.js';
import { chooseProfile, rolesOf } from '../../principal.js';
import type { Principal } from '../../principal.js';
import { beginThreadOnce, markOf } from '../../repeats.js';
import { defineRoute } from '../../route.js';
import { shownRecord, ThreadRecord } from '../../shapes/thread-answers.js';
import { StartThread, threadRequestOf } from '../../shapes/thread-requests.js';

/** The org that a client works in; it sends it where it was given one. */
export const ORG_HEADER = 'X-Roboto-Org-Id';

export const startThread = defineRoute({
  operation: 'startThread',
  method: 'POST',
  path: '/v1/ai/threads',
  summary: 'Starts a thread. The same request, sent again before its thread was read, gives the same thread.',
  access: 'threads:write',
  headers: {
    'Idempotency-Key': 'The same key with the same body gives the same thread, however often it is sent.',
    [ORG_HEADER]: 'The org of the credential, if given.',
  },
  body: StartThread,
  replies: { 200: { description: 'The thread.', schema: dataOf(ThreadRecord) } },
  errors: ['unknown_agent', 'unknown_profile', 'forbidden', 'thread_exists', 'idempotency_conflict'],
  async handle({ tools, principal, request, body }) {
    const [first] = tools.catalog.agents;
    const asked = threadRequestOf(body, first?.agent_id ?? '');
    checkCatalog(tools.catalog, asked);
    const owner = ownerOf(principal, request.headers);
    const mark = markOf(principal, 'start', { ...asked, ...owner });
    const threadId = body.thread_id ?? body.session_id ?? body.chat_id;
    const { record } = await beginThreadOnce(
      { tools, principal, request, agentId: asked.agent_id, mark, threadId },
      (thread_id) => tools.threads.start({ ...asked, ...owner, ...rolesOf(principal), thread_id, mark }),
    );
    return data(shownRecord(record, chooseProfile(tools.catalog, principal, undefined)));
  },
});

/** Whose the thread will be. Without auth there is nobody, and an org only where one is named. */
export function ownerOf(principal: Principal, headers: Headers): { org_id?: string; created_by?: string } {
  const asked = headers.get(ORG_HEADER) ?? undefined;
  if (principal.kind === 'local') return asked === undefined ? {} : { org_id: asked };
  if (asked !== undefined && asked !== principal.org_id) {
    throw new PerdureError('forbidden', `${ORG_HEADER}: it is not the org of your credential`);
  }
  return { org_id: principal.org_id, created_by: principal.user_id };
}
