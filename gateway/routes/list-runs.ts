/** `GET /v1/runs`: the runs of an org, newest first. */
import { defineRoute } from '../route.js';
import { RunPage, RunQuery } from '../shapes/run-list.js';

export const listRuns = defineRoute({
  operation: 'listRuns',
  method: 'GET',
  path: '/v1/runs',
  summary: 'Root runs of your org, newest first. A run that was just started may not be there yet.',
  access: 'member',
  query: RunQuery,
  replies: { 200: { description: 'A page of runs.', schema: RunPage } },
  async handle({ tools, principal, query }) {
    const { created_after, created_before, limit, ...equal } = query;
    const page = await tools.runs.list({
      ...(Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined)) as object),
      ...(principal.kind === 'local' ? {} : { org_id: principal.org_id }),
      ...(created_after === undefined ? {} : { created_after: new Date(created_after) }),
      ...(created_before === undefined ? {} : { created_before: new Date(created_before) }),
      ...(limit === undefined ? {} : { limit: Number(limit) }),
    });
    return Response.json(page);
  },
});
