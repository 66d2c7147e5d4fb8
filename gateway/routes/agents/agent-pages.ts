/** Pages of stored agents: a token says which one was the last, so that agents that come and go shift nothing. */
import { PerdureError } from '../../../contract/errors.js';
import type { StoredAgent } from '../../../contract/stored-agent.js';

const PAGE_SIZE = 50;

/** Of agents that are sorted, newest first. */
export function pageOf(
  agents: readonly StoredAgent[],
  token: string | undefined,
): { items: StoredAgent[]; nextToken: string | null } {
  const rest = token === undefined ? agents : agents.slice(firstAfter(agents, readToken(token)));
  const items = rest.slice(0, PAGE_SIZE);
  const last = items.at(-1);
  return { items, nextToken: last === undefined || rest.length <= PAGE_SIZE ? null : writeToken(last) };
}

interface Position {
  created: string;
  agent_id: string;
}

function firstAfter(agents: readonly StoredAgent[], { created, agent_id }: Position): number {
  const isAfter = (agent: StoredAgent) =>
    agent.created < created || (agent.created === created && agent.agent_id < agent_id);
  const first = agents.findIndex(isAfter);
  return first === -1 ? agents.length : first;
}

function writeToken({ created, agent_id }: Position): string {
  return Buffer.from(JSON.stringify([created, agent_id])).toString('base64url');
}

function readToken(token: string): Position {
  try {
    const [created, agent_id] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[];
    if (typeof created === 'string' && typeof agent_id === 'string') return { created, agent_id };
  } catch {
    // Refused below, like one of the wrong shape.
  }
  const message = 'is none that was given out here';
  throw new PerdureError('invalid_request', `page_token ${message}`, { issues: [{ path: 'page_token', message }] });
}
