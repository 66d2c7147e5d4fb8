/** `GET /v1/runs`: the runs of an org, newest first. */
import { asksArchive, findArchived } from '../archived-runs.js';
import { defineRoute } from '../route.js';
import { RunPage, RunQuery } from '../shapes/run-list.js';

export const listRuns = defineRoute({
  operation: 'listRuns',
  method: 'GET',
  path: '/v1/runs',
  summary: 'Root runs of your org, newest first. A run that was just started, or has just ended, may not be there yet.',
  access: 'runs:read',
  query: RunQuery,
  replies: { 200: { description: 'A page of runs.', schema: RunPage } },
  errors: ['forbidden'],
  async handle({ tools, principal, query }) {
    if (asksArchive(query)) return Response.json(await findArchived(tools, principal, query));
    const { created_after, created_before, limit, waiting, agent_id, phase, thread_id, cursor } = query;
    const equal = { agent_id, phase, thread_id, cursor };
    const page = await tools.runs.list({
      ...(Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined)) as object),
      ...(principal.kind === 'local' ? {} : { org_id: principal.org_id }),
      ...(waiting === undefined ? {} : { waiting: waiting === 'true' }),
      ...(created_after === undefined ? {} : { created_after: new Date(created_after) }),
      ...(created_before === undefined ? {} : { created_before: new Date(created_before) }),
      ...(limit === undefined ? {} : { limit: Number(limit) }),
    });
    return Response.json(page);
  },
});
