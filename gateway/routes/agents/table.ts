/** All routes of stored agents. */
import type { Route } from '../../route.js';
import { launchAgent } from './launch-agent.js';
import { createAgent, deleteAgent, listAgents, readAgent, readAgentByName, updateAgent } from './manage-agents.js';

export const STORED_AGENT_ROUTES: readonly Route[] = [
  createAgent,
  listAgents,
  // Before those with an id: an agent's name may be the last word of another route.
  readAgentByName,
  readAgent,
  updateAgent,
  deleteAgent,
  launchAgent,
];
