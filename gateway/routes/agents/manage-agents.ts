/** `/v1/ai/agents`: agents that are stored, read and changed as data. */
import { checkCatalog } from '../../check-catalog.js';
import { checkSizes } from '../../../contract/check-sizes.js';
import { StoredAgent, variableIssues } from '../../../contract/stored-agent.js';
import type { AgentContents } from '../../../contract/stored-agent.js';
import { checkThreadRequest } from '../../../contract/thread-request.js';
import { data, dataOf, dataPage, dataPageOf } from '../../envelope.js';
import { invalidRequest } from '../../invalid-request.js';
import { ownAgent, ownAgentByName, unknownAgent } from '../../own-agent.js';
import { userOf } from '../../principal.js';
import { checkShape, defineRoute } from '../../route.js';
import type { RouteTools } from '../../route.js';
import {
  AgentDeleted,
  AgentQuery,
  CreateAgent,
  RequestTemplate,
  storedTemplate,
  UpdateAgent,
} from '../../shapes/stored-agents.js';
import { threadRequestOf } from '../../shapes/thread-requests.js';
import { ORG_HEADER, ownerOf } from '../threads/start-thread.js';
import { pageOf } from './agent-pages.js';

/** Of an agent that is asked for by its name. */
const OWNER_HEADER = 'X-Roboto-Resource-Owner-Id';
const orgHeader = { [ORG_HEADER]: 'The org of the credential, if given.' };
const oneAgent = { 200: { description: 'The agent.', schema: dataOf(StoredAgent) } };
const refusals = ['unknown_agent', 'unknown_profile', 'agent_exists'] as const;

export const createAgent = defineRoute({
  operation: 'createStoredAgent',
  method: 'POST',
  path: '/v1/ai/agents',
  summary: 'Stores an agent. The same again, by the same user, gives the agent that is there.',
  access: 'agents:write',
  headers: orgHeader,
  body: CreateAgent,
  replies: oneAgent,
  errors: [...refusals, 'forbidden'],
  async handle({ tools, principal, request, body }) {
    const { org_id = '', created_by = '' } = ownerOf(principal, request.headers);
    const contents = { ...body, request_template: storedTemplate(body.request_template) };
    checkContents(tools, contents);
    return data(await tools.records.agents.create(contents, { org_id, user_id: created_by }));
  },
});

export const listAgents = defineRoute({
  operation: 'listStoredAgents',
  method: 'GET',
  path: '/v1/ai/agents',
  summary: 'The stored agents of your org, newest first.',
  access: 'agents:read',
  headers: orgHeader,
  query: AgentQuery,
  replies: { 200: { description: 'A page of agents.', schema: dataPageOf(StoredAgent) } },
  errors: ['forbidden'],
  async handle({ tools, principal, request, query }) {
    const { org_id = '' } = ownerOf(principal, request.headers);
    const { items, nextToken } = pageOf(await tools.records.agents.list(org_id), query.page_token);
    return dataPage(items, nextToken);
  },
});

export const readAgentByName = defineRoute({
  operation: 'readStoredAgentByName',
  method: 'GET',
  path: '/v1/ai/agents/name/{name}',
  summary: 'A stored agent by its name.',
  access: 'agents:read',
  headers: { [OWNER_HEADER]: 'The org of the agent, if it is not that of the credential: then it is not found.' },
  replies: oneAgent,
  errors: ['unknown_stored_agent'],
  async handle({ tools, principal, request, params }) {
    const org = request.headers.get(OWNER_HEADER);
    return data(await ownAgentByName(tools.records.agents, principal, params['name'] ?? '', org));
  },
});

export const readAgent = defineRoute({
  operation: 'readStoredAgent',
  method: 'GET',
  path: '/v1/ai/agents/{agent_id}',
  summary: 'A stored agent.',
  access: 'agents:read',
  replies: oneAgent,
  errors: ['unknown_stored_agent'],
  handle: async ({ tools, principal, params }) =>
    data(await ownAgent(tools.records.agents, principal, params['agent_id'] ?? '')),
});

export const updateAgent = defineRoute({
  operation: 'updateStoredAgent',
  method: 'PUT',
  path: '/v1/ai/agents/{agent_id}',
  summary: 'Changes a stored agent: what is absent stays as it is, the agent_id of a new template too.',
  access: 'agents:write',
  body: UpdateAgent,
  replies: oneAgent,
  errors: [...refusals, 'unknown_stored_agent'],
  async handle({ tools, principal, params, body }) {
    const agent = await ownAgent(tools.records.agents, principal, params['agent_id'] ?? '');
    const edit = (found: StoredAgent) => {
      const contents = { ...found, ...body, request_template: newTemplate(found, body.request_template) };
      checkContents(tools, contents);
      return contents;
    };
    const updated = await tools.records.agents.update(agent, edit, userOf(principal));
    if (updated === undefined) throw unknownAgent(agent.agent_id);
    return data(updated);
  },
});

export const deleteAgent = defineRoute({
  operation: 'deleteStoredAgent',
  method: 'DELETE',
  path: '/v1/ai/agents/{agent_id}',
  summary: 'Deletes a stored agent. Threads that were launched from it stay.',
  access: 'agents:write',
  replies: { 200: { description: 'It is gone.', schema: dataOf(AgentDeleted) } },
  errors: ['unknown_stored_agent'],
  async handle({ tools, principal, params }) {
    const agent = await ownAgent(tools.records.agents, principal, params['agent_id'] ?? '');
    if (!(await tools.records.agents.remove(agent))) throw unknownAgent(agent.agent_id);
    return data({ agent_id: agent.agent_id });
  },
});

/** The published client does not know the configured agent's id, and must not take it away by a new template. */
function newTemplate(found: StoredAgent, template: RequestTemplate | undefined): StoredAgent['request_template'] {
  if (template === undefined) return found.request_template;
  const { agent_id } = found.request_template;
  return { ...(agent_id === undefined ? {} : { agent_id }), ...storedTemplate(template) };
}

/** That it can be launched, as far as can be told before its values are known. */
function checkContents({ catalog }: RouteTools, contents: AgentContents): void {
  checkSizes({ ...contents.request_template, variables: contents.variables });
  const issues = variableIssues(contents);
  if (issues.length > 0) throw invalidRequest('the body is invalid', issues);
  const template = checkShape(RequestTemplate, contents.request_template, 'template');
  const request = threadRequestOf(template, catalog.agents[0]?.agent_id ?? '');
  checkThreadRequest(request);
  const isTemplated = contents.variables.length > 0 && request.model_profile?.includes('{{') === true;
  checkCatalog(catalog, isTemplated ? { agent_id: request.agent_id } : request);
}
