/** `POST /v1/runs`: starts a run, or gives the one that the same request has started before. */
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import { CALLER_RUN_ID_PATTERN } from '../../contract/ids.js';
import { RunHandle } from '../../contract/run.js';
import type { RunRequestInput } from '../../contract/run.js';
import { z } from 'zod';
import { checkCatalog } from '../check-catalog.js';
import { chosenRunId, requestDigest } from '../idempotency.js';
import { mayRead } from '../own-run.js';
import { checkMayWrite, mayReadThread } from '../own-thread.js';
import { checkScope, chooseProfile, orgOf, rolesOf } from '../principal.js';
import type { Principal } from '../principal.js';
import { defineRoute } from '../route.js';
import type { RouteTools } from '../route.js';
import { StartRequest } from '../shapes/commands.js';
import { openStream, STREAM_QUERY, STREAM_TYPES, wantsStream } from './stream-events.js';

export const startRun = defineRoute({
  operation: 'startRun',
  method: 'POST',
  path: '/v1/runs',
  summary: 'Starts a run. With ?stream=true, or an Accept of one of the stream types, its events are the answer.',
  access: 'runs:start',
  headers: { 'Idempotency-Key': 'The same key with the same body gives the same run, however often it is sent.' },
  query: STREAM_QUERY.extend({ stream: z.enum(['true', 'false']).optional() }),
  body: StartRequest,
  replies: {
    200: {
      description: 'The run that this request had started before; or the stream.',
      schema: RunHandle,
      types: STREAM_TYPES,
    },
    201: { description: 'The run was started.', schema: RunHandle },
  },
  errors: [
    'unknown_agent',
    'unknown_profile',
    'forbidden',
    'unknown_thread',
    'thread_read_only',
    'idempotency_conflict',
    'run_exists',
    'input_too_large',
    'too_many_streams',
  ],
  async handle({ tools, principal, request, search, query, body }) {
    const streams = wantsStream(query.stream, request.headers);
    const profile = chooseProfile(tools.catalog, principal, query.profile);
    checkCatalog(tools.catalog, body);
    const asked = owned(principal, body);
    if (streams) checkScope(principal, 'runs:read');
    // To leave is then a cancel.
    if (streams && query.on_disconnect === 'cancel') checkScope(principal, 'runs:cancel');
    if (asked.thread_id !== undefined) await checkThread(tools, principal, asked.thread_id);
    const runId = chosenRunId(principal, asked.run_id, request.headers.get('idempotency-key'));
    const start = () => startOnce(tools, principal, { ...asked, ...(runId === undefined ? {} : { run_id: runId }) });
    if (streams) {
      let location = '';
      const org = orgOf(principal, asked);
      const response = await openStream({ tools, principal, request, search, profile, org }, runId, async () => {
        const { handle } = await start();
        location = locationOf(handle.run_id);
        return handle.run_id;
      });
      response.headers.set('location', location);
      return response;
    }
    const { handle, created } = await start();
    const headers = { location: locationOf(handle.run_id) };
    return Response.json(handle, { status: created ? 201 : 200, headers });
  },
});

async function startOnce(
  { runs }: RouteTools,
  principal: Principal,
  request: RunRequestInput,
): Promise<{ handle: RunHandle; created: boolean }> {
  const request_digest = requestDigest(request);
  try {
    const started = await runs.start({ ...request, ...rolesOf(principal) }, { request_digest });
    return { handle: started, created: true };
  } catch (error) {
    if (!isPerdureError(error) || error.code !== 'run_exists' || request.run_id === undefined) throw error;
  }
  const { run_id, agent_id, thread_id } = request;
  const record = await runs.describe(run_id);
  if (!mayRead(principal, record) || record.request_digest === undefined) {
    throw new PerdureError('run_exists', `the run id "${run_id}" is taken`);
  }
  if (record.request_digest !== request_digest) {
    const what = `run ${run_id} was started by another request than this one, under the same key or id`;
    throw new PerdureError('idempotency_conflict', what);
  }
  const handle = { run_id, agent_id, root_run_id: run_id, ...(thread_id === undefined ? {} : { thread_id }) };
  return { handle, created: false };
}

/** A name that is no thread's is the caller's own; in a thread, only who may write to it starts runs. */
async function checkThread({ threads }: RouteTools, principal: Principal, thread_id: string): Promise<void> {
  if (principal.kind === 'local' || !CALLER_RUN_ID_PATTERN.test(thread_id)) return;
  const found = await threads.header(thread_id).catch((error: unknown) => {
    if (isPerdureError(error) && error.code === 'unknown_thread') return undefined;
    throw error;
  });
  if (found === undefined) return;
  if (!mayReadThread(principal, found.record))
    throw new PerdureError('unknown_thread', `there is no thread "${thread_id}"`);
  checkMayWrite(principal, { thread_id, owner: found.record });
}

/** The owner is who asks, whatever the body says: a body that says otherwise is a mistake or worse. */
function owned(principal: Principal, request: RunRequestInput): RunRequestInput {
  if (principal.kind === 'local') return request;
  const { org_id, user_id } = principal;
  for (const [field, own] of [
    ['org_id', org_id],
    ['created_by', user_id],
  ] as const) {
    if (request[field] !== undefined && request[field] !== own) {
      const message = 'is not the one of your credential: leave it out';
      throw new PerdureError('forbidden', `${field} ${message}`, { issues: [{ path: field, message }] });
    }
  }
  if (request.roles !== undefined) {
    const message = 'are those of your credential: leave them out';
    throw new PerdureError('forbidden', `roles ${message}`, { issues: [{ path: 'roles', message }] });
  }
  return { ...request, org_id, created_by: user_id };
}

function locationOf(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}
