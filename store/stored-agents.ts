/** Stored agents, by org. Names are unique in their org, whoever writes at the same time. */
import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { PerdureError } from '../contract/errors.js';
import { StoredAgentFile } from '../contract/stored-agent.js';
import type { AgentContents, StoredAgent } from '../contract/stored-agent.js';
import { undefinedIfMissing } from './if-missing.js';
import { createNumberedStates } from './numbered-states.js';
import type { NumberedStates } from './numbered-states.js';
import { parseRecords } from './parse-records.js';

/** Each change writes all of an org's agents. */
const MOST_AGENTS = 1_000;
const FOLDER_PATTERN = /^[0-9a-f]{64}$/;

export interface AgentOwner {
  org_id: string;
  user_id: string;
}

export interface StoredAgents {
  /** Newest first. */
  list(orgId: string): Promise<StoredAgent[]>;
  /** In all orgs, where none is given. */
  find(agentId: string, orgId?: string): Promise<StoredAgent | undefined>;
  findByName(name: string, orgId: string): Promise<StoredAgent | undefined>;
  /** The same again, by the same user, gives the agent that is there: the request was sent twice. */
  create(agent: AgentContents, owner: AgentOwner): Promise<StoredAgent>;
  /** Undefined where it is gone. `edit` may throw, and then nothing is changed. */
  update(agent: StoredAgent, edit: (agent: StoredAgent) => AgentContents, by: string): Promise<StoredAgent | undefined>;
  /** False where it is gone already. */
  remove(agent: StoredAgent): Promise<boolean>;
}

export function createStoredAgents(folder: string): StoredAgents {
  const orgs = new Map<string, NumberedStates<StoredAgentFile>>();

  function inFolder(name: string): NumberedStates<StoredAgentFile> {
    const known = orgs.get(name);
    if (known !== undefined) return known;
    const states = createNumberedStates<StoredAgentFile>({
      folder: join(folder, name),
      empty: { version: 1, agents: [] },
      parse: (text, path) => parseRecords(StoredAgentFile, text, `the stored agents in ${path}`),
    });
    orgs.set(name, states);
    return states;
  }
  // An org's id can hold what a file name cannot.
  const of = (orgId: string) => inFolder(createHash('sha256').update(orgId).digest('hex'));
  const orgFolders = async () =>
    ((await readdir(folder).catch(undefinedIfMissing)) ?? []).filter((name) => FOLDER_PATTERN.test(name));

  return {
    async list(orgId) {
      return (await of(orgId).read()).agents.toSorted(newestFirst);
    },
    async find(agentId, orgId) {
      const searched = orgId === undefined ? (await orgFolders()).map(inFolder) : [of(orgId)];
      const files = await Promise.all(searched.map((states) => states.read()));
      return files.flatMap(({ agents }) => agents).find(({ agent_id }) => agent_id === agentId);
    },
    async findByName(name, orgId) {
      return (await of(orgId).read()).agents.find((agent) => agent.name === name);
    },
    create(agent, { org_id, user_id }) {
      const now = new Date().toISOString();
      const owner = { created: now, created_by: user_id, modified: now, modified_by: user_id };
      const made = { agent_id: `agt_${randomBytes(9).toString('hex')}`, org_id, ...agent, ...owner };
      return of(org_id).change((state) => {
        const { agents } = state;
        const namesake = agents.find(({ name }) => name === agent.name);
        if (namesake !== undefined && isSame(namesake, made)) return { state, result: namesake };
        if (namesake !== undefined) throw taken(namesake);
        if (agents.length >= MOST_AGENTS) {
          const what = `the org has ${agents.length} stored agents, and cannot have more: delete those of no use`;
          throw new PerdureError('invalid_request', what);
        }
        return { state: { version: 1, agents: [...agents, made] }, result: made };
      });
    },
    update({ agent_id, org_id }, edit, by) {
      return of(org_id).change((state) => {
        const found = state.agents.find((agent) => agent.agent_id === agent_id);
        if (found === undefined) return { state, result: undefined };
        const edited = { ...found, ...edit(found), modified: new Date().toISOString(), modified_by: by };
        const namesake = state.agents.find((agent) => agent.name === edited.name && agent.agent_id !== agent_id);
        if (namesake !== undefined) throw taken(namesake);
        const agents = state.agents.map((agent) => (agent === found ? edited : agent));
        return { state: { version: 1, agents }, result: edited };
      });
    },
    remove({ agent_id, org_id }) {
      return of(org_id).change((state) => {
        const agents = state.agents.filter((agent) => agent.agent_id !== agent_id);
        if (agents.length === state.agents.length) return { state, result: false };
        return { state: { version: 1, agents }, result: true };
      });
    },
  };
}

function isSame(stored: StoredAgent, asked: StoredAgent): boolean {
  const contentOf = ({ name, description, request_template, variables, created_by }: StoredAgent) =>
    JSON.parse(JSON.stringify({ name, description, request_template, variables, created_by })) as unknown;
  return isDeepStrictEqual(contentOf(stored), contentOf(asked));
}

function taken({ name, agent_id }: StoredAgent): PerdureError {
  return new PerdureError('agent_exists', `the org has a stored agent "${name}" already: ${agent_id}`);
}

function newestFirst(a: StoredAgent, b: StoredAgent): number {
  return a.created === b.created ? (a.agent_id < b.agent_id ? 1 : -1) : a.created < b.created ? 1 : -1;
}
