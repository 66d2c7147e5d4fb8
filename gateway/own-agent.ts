/**
 * Whose a stored agent is: all members of its org read it, change it and launch it. One of another org is answered
 * exactly as one that is not there. Without auth, whoever sits at the machine sees all.
 */
import { PerdureError } from '../contract/errors.js';
import type { StoredAgent } from '../contract/stored-agent.js';
import type { StoredAgents } from '../store/stored-agents.js';
import type { Principal } from './principal.js';

export async function ownAgent(agents: StoredAgents, principal: Principal, agentId: string): Promise<StoredAgent> {
  const found = await agents.find(agentId, principal.kind === 'local' ? undefined : principal.org_id);
  if (found === undefined) throw unknownAgent(agentId);
  return found;
}

export async function ownAgentByName(
  agents: StoredAgents,
  principal: Principal,
  name: string,
  orgId: string | null,
): Promise<StoredAgent> {
  const own = principal.kind === 'local' ? (orgId ?? '') : principal.org_id;
  const found = orgId === null || orgId === own ? await agents.findByName(name, own) : undefined;
  if (found === undefined) throw unknownAgent(name);
  return found;
}

export function unknownAgent(idOrName: string): PerdureError {
  return new PerdureError('unknown_stored_agent', `there is no stored agent "${idOrName}"`);
}
