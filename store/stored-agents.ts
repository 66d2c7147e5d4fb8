/** Stored agents, by org. Names are unique in their org, whoever writes at the same time. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import { PerdureError } from '../contract/errors.js';
import { STORED_AGENTS_CHARS } from '../contract/sizes.js';
import { StoredAgent } from '../contract/stored-agent.js';
import type { AgentContents } from '../contract/stored-agent.js';
import type { Changes, Database } from './database/open-database.js';
import type { StoredAgentsTable } from './database/tables.js';
import { parseRecords } from './parse-records.js';

/** A list reads all agents of an org, so these are few, and their texts together bounded. */
const MOST_AGENTS = 1_000;

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

export function createStoredAgents(database: Database): StoredAgents {
  const { query, place } = database;
  const toAgent = ({ agent_id, agent }: Pick<StoredAgentsTable, 'agent_id' | 'agent'>) =>
    parseRecords(StoredAgent, agent, `the stored agent ${agent_id} in ${place}`);
  const one = (row: Selectable<StoredAgentsTable> | undefined) => (row === undefined ? undefined : toAgent(row));
  const byId = (rows: Pick<Changes, 'selectFrom'>, agentId: string) =>
    rows.selectFrom('stored_agents').selectAll().where('agent_id', '=', agentId);
  const byName = (rows: Pick<Changes, 'selectFrom'>, name: string, orgId: string) =>
    rows.selectFrom('stored_agents').selectAll().where('org_id', '=', orgId).where('name', '=', name);
  // Whoever changes the agents of an org is alone with them: names and their number are looked at before.
  const change = <T>(orgId: string, work: (changes: Changes) => Promise<T>) =>
    database.change(work, { name: `stored agents of ${orgId}` });

  return {
    async list(orgId) {
      const rows = await query.selectFrom('stored_agents').selectAll().where('org_id', '=', orgId).execute();
      return rows.map(toAgent).toSorted(newestFirst);
    },
    async find(agentId, orgId) {
      const found = byId(query, agentId);
      return one(await (orgId === undefined ? found : found.where('org_id', '=', orgId)).executeTakeFirst());
    },
    async findByName(name, orgId) {
      return one(await byName(query, name, orgId).executeTakeFirst());
    },
    create(agent, { org_id, user_id }) {
      const now = new Date().toISOString();
      const owner = { created: now, created_by: user_id, modified: now, modified_by: user_id };
      const made = { agent_id: `agt_${randomBytes(9).toString('hex')}`, org_id, ...agent, ...owner };
      return change(org_id, async (changes) => {
        const namesake = one(await byName(changes, agent.name, org_id).executeTakeFirst());
        if (namesake !== undefined && isSame(namesake, made)) return namesake;
        if (namesake !== undefined) throw taken(namesake);
        await checkRoom(changes, made);
        await changes.insertInto('stored_agents').values(toAgentRow(made)).execute();
        return made;
      });
    },
    update({ agent_id, org_id }, edit, by) {
      return change(org_id, async (changes) => {
        const found = one(await byId(changes, agent_id).executeTakeFirst());
        if (found === undefined) return undefined;
        const edited = { ...found, ...edit(found), modified: new Date().toISOString(), modified_by: by };
        const namesake = one(await byName(changes, edited.name, org_id).executeTakeFirst());
        if (namesake !== undefined && namesake.agent_id !== agent_id) throw taken(namesake);
        await checkRoom(changes, edited);
        await changes.updateTable('stored_agents').set(toAgentRow(edited)).where('agent_id', '=', agent_id).execute();
        return edited;
      });
    },
    async remove({ agent_id, org_id }) {
      const { numDeletedRows } = await query
        .deleteFrom('stored_agents')
        .where('agent_id', '=', agent_id)
        .where('org_id', '=', org_id)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

/** One that becomes smaller has room, whatever the others take: else there would be no way back. */
async function checkRoom(changes: Pick<Changes, 'selectFrom'>, agent: StoredAgent): Promise<void> {
  const { org_id, agent_id } = agent;
  const { count, chars, own } = await changes
    .selectFrom('stored_agents')
    .select(({ fn }) => [fn.countAll<number>().as('count')])
    .select(sql<number>`coalesce(sum(length(agent)), 0)`.as('chars'))
    .select(sql<number>`coalesce(sum(case when agent_id = ${agent_id} then length(agent) else 0 end), 0)`.as('own'))
    .where('org_id', '=', org_id)
    .executeTakeFirstOrThrow();
  if (own === 0 && count >= MOST_AGENTS) {
    const what = `the org has ${count} stored agents, and cannot have more: delete those of no use`;
    throw new PerdureError('invalid_request', what);
  }
  const size = JSON.stringify(agent).length;
  const sum = Number(chars) - Number(own) + size;
  if (size <= Number(own) || sum <= STORED_AGENTS_CHARS) return;
  const what = `with this one the stored agents of the org would have ${sum} characters; at most ${STORED_AGENTS_CHARS} can be kept`;
  throw new PerdureError('input_too_large', `${what}: delete those of no use`);
}

export function toAgentRow(agent: StoredAgent): Selectable<StoredAgentsTable> {
  const { agent_id, org_id, name } = agent;
  return { agent_id, org_id, name, agent: JSON.stringify(agent) };
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
