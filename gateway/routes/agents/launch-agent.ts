/** `POST /v1/ai/agents/{agent_id}/launch`: a thread of a stored agent, with values for its variables. */
import { filledBytes, fillTemplate } from '../../../contract/agent-template.js';
import { checkSizes } from '../../../contract/check-sizes.js';
import { PerdureError } from '../../../contract/errors.js';
import { FILLED_TEMPLATE_BYTES } from '../../../contract/sizes.js';
import type { StoredAgent } from '../../../contract/stored-agent.js';
import { checkCatalog } from '../../check-catalog.js';
import { data, dataOf } from '../../envelope.js';
import { invalidRequest } from '../../invalid-request.js';
import { ownAgent } from '../../own-agent.js';
import { chooseProfile, rolesOf } from '../../principal.js';
import { beginThreadOnce, markOf } from '../../repeats.js';
import { checkShape, defineRoute } from '../../route.js';
import { LaunchAgent, RequestTemplate } from '../../shapes/stored-agents.js';
import { shownRecord, ThreadRecord } from '../../shapes/thread-answers.js';
import { threadRequestOf } from '../../shapes/thread-requests.js';

export const launchAgent = defineRoute({
  operation: 'launchStoredAgent',
  method: 'POST',
  path: '/v1/ai/agents/{agent_id}/launch',
  summary:
    'Starts a thread of a stored agent. The same request, sent again before its thread was read, gives the same thread.',
  access: 'threads:write',
  headers: { 'Idempotency-Key': 'The same key with the same body gives the same thread, however often it is sent.' },
  body: LaunchAgent,
  replies: { 200: { description: 'The thread.', schema: dataOf(ThreadRecord) } },
  errors: ['unknown_stored_agent', 'unknown_agent', 'unknown_profile', 'thread_exists', 'idempotency_conflict'],
  async handle({ tools, principal, request, params, body }) {
    const agent = await ownAgent(tools.records.agents, principal, params['agent_id'] ?? '');
    checkSizes(body);
    const filled = filledIn(agent, valuesFor(agent, body.values));
    const template = checkShape(RequestTemplate, filled, 'template, with these values,');
    const analysis_scope = laidOver(template.analysis_scope, body.analysis_scope);
    const [first] = tools.catalog.agents;
    const asked = {
      ...threadRequestOf({ ...template, visibility: body.visibility }, first?.agent_id ?? ''),
      ...(analysis_scope === undefined ? {} : { analysis_scope }),
      ...(agent.org_id === '' ? {} : { org_id: agent.org_id }),
      ...(principal.kind === 'local' ? {} : { created_by: principal.user_id }),
      created_from_agent_id: agent.agent_id,
    };
    checkCatalog(tools.catalog, asked);
    const mark = markOf(principal, `launch of ${agent.agent_id}`, body);
    const { record } = await beginThreadOnce(
      { tools, principal, request, agentId: asked.agent_id, mark },
      (thread_id) => tools.threads.start({ ...asked, ...rolesOf(principal), thread_id, mark }),
    );
    return data(shownRecord(record, chooseProfile(tools.catalog, principal, undefined)));
  },
});

/** Measured before it is made: a few kilobytes of template and values can mean gigabytes of text. */
function filledIn({ agent_id, request_template }: StoredAgent, values: ReadonlyMap<string, string>): unknown {
  const bytes = filledBytes(request_template, values);
  if (bytes <= FILLED_TEMPLATE_BYTES) return fillTemplate(request_template, values);
  const most = `at most ${FILLED_TEMPLATE_BYTES} can be taken`;
  throw new PerdureError('input_too_large', `agent ${agent_id}, with these values, has ${bytes} bytes; ${most}`);
}

/** What is given, and the defaults of the rest. Ids are not looked up: only the application knows what they name. */
function valuesFor({ agent_id, variables }: StoredAgent, given: Record<string, string>): Map<string, string> {
  const at = (name: string, message: string) => ({ path: `values.${name}`, message });
  const declared = new Map(variables.map((variable) => [variable.name, variable]));
  const values = new Map<string, string>();
  const issues = Object.keys(given).flatMap((name) =>
    declared.has(name) ? [] : [at(name, `is not a variable of agent ${agent_id}`)],
  );
  for (const { name, type, default: otherwise } of variables) {
    const value = Object.hasOwn(given, name) ? given[name] : otherwise;
    if (value == null) issues.push(at(name, 'is missing'));
    else if (value.trim() === '' && type !== 'string') issues.push(at(name, `is empty, and must be a ${type}`));
    else values.set(name, value);
  }
  if (issues.length === 0) return values;
  throw invalidRequest('the values do not fit', issues);
}

type Scope = Record<string, unknown> | null | undefined;

function laidOver(template: Scope, given: Scope): Record<string, unknown> | undefined {
  if (template == null && given == null) return undefined;
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== null);
  return { ...template, ...Object.fromEntries(set) };
}
