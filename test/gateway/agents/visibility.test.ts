/** Who may do what with a stored agent, on every route of them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredAgent } from '../../../contract/stored-agent.js';
import { STORED_AGENT_ROUTES } from '../../../gateway/routes/agents/table.js';
import { ROUTES } from '../../../gateway/routes/table.js';
import type { Answer, Caller } from '../gateway-world.js';
import { serveFor } from '../gateway-world.js';
import { createThreadGateway, dataOf, refusalOf, THREAD_CATALOG } from '../threads/thread-gateway.js';
import type { ThreadGateway } from '../threads/thread-gateway.js';
import { greeter } from './greeter.js';

let world: ThreadGateway['world'];
let orgs: ThreadGateway['orgs'];
let callers: ThreadGateway['callers'];
let stop: ThreadGateway['stop'];

beforeAll(async () => {
  ({ world, orgs, callers, stop } = await createThreadGateway());
});
afterAll(() => stop());

const ROLES = {
  creator: 'ann',
  'member of the org': 'bob',
  'admin of the org': 'ada',
  'admin of another org': 'gus',
} as const;
type Role = keyof typeof ROLES;
const as = (role: Role): Caller => callers[ROLES[role]];
const create = async () => dataOf<StoredAgent>(await as('creator').post('/v1/ai/agents', greeter(randomUUID())));

/** For each route a good body, so that only the caller can be what is wrong, and what another org gets of it. */
interface Expectation {
  body?: (agent: StoredAgent) => object;
  another: 'as if it was not there' | 'its own';
}
const EXPECTED: Record<string, Expectation> = {
  createStoredAgent: { body: () => greeter(randomUUID()), another: 'its own' },
  listStoredAgents: { another: 'its own' },
  readStoredAgentByName: { another: 'as if it was not there' },
  readStoredAgent: { another: 'as if it was not there' },
  updateStoredAgent: { body: () => ({ description: 'changed' }), another: 'as if it was not there' },
  deleteStoredAgent: { another: 'as if it was not there' },
  launchStoredAgent: { body: () => ({ values: { who: randomUUID() } }), another: 'as if it was not there' },
};

function call(operation: string, by: Caller, agent: StoredAgent): Promise<Answer> {
  const route = STORED_AGENT_ROUTES.find((each) => each.operation === operation);
  if (route === undefined) throw new Error(`there is no route ${operation}`);
  const path = route.path.replace('{agent_id}', agent.agent_id).replace('{name}', agent.name);
  return by.call(route.method, path, EXPECTED[operation]?.body?.(agent), { 'x-request-id': 'same' });
}

describe('a stored agent', () => {
  it('has an expectation for each of its routes', () => {
    const operations = ROUTES.filter(({ path }) => path.startsWith('/v1/ai/agents')).map(({ operation }) => operation);
    expect(operations.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });

  const cells = Object.keys(EXPECTED).flatMap((operation) =>
    (Object.keys(ROLES) as Role[]).map((role) => ({ operation, role })),
  );
  it.each(cells)('gives $operation to the $role as it should', async ({ operation, role }) => {
    const agent = await create();
    const answer = await call(operation, as(role), agent);
    if (role !== 'admin of another org') {
      expect(answer.status, answer.text).toBe(200);
      return;
    }
    if (EXPECTED[operation]?.another === 'its own') {
      expect(answer.status, answer.text).toBe(200);
      expect(answer.text).not.toContain(agent.agent_id);
      expect(answer.text).not.toContain(orgs.acme);
      return;
    }
    expect(refusalOf(answer).slice(0, 2)).toEqual([404, 'RobotoNotFoundException']);
    // Exactly what it gets for one that never was.
    const never = { ...agent, agent_id: agent.agent_id.replace(/.$/, 'x'), name: `${agent.name}x` };
    const missing = await call(operation, as(role), never);
    const plain = ({ status, headers, text }: Answer, { agent_id, name }: StoredAgent) => ({
      status,
      headers: [...headers].filter(([header]) => header !== 'date' && header !== 'content-length'),
      text: text.replaceAll(agent_id, 'ID').replaceAll(name, 'NAME'),
    });
    expect(plain(answer, agent)).toEqual(plain(missing, never));
    expect(dataOf<StoredAgent>(await as('creator').get(`/v1/ai/agents/${agent.agent_id}`))).toEqual(agent);
  });

  it('is seen by whoever sits at a machine without auth, of whichever org it is', async () => {
    const agent = await create();
    const local = await serveFor(world, { kind: 'off' }, { catalog: THREAD_CATALOG });
    try {
      const me = local.as();
      expect(dataOf<StoredAgent>(await me.get(`/v1/ai/agents/${agent.agent_id}`))).toEqual(agent);
      const owner = { 'x-roboto-resource-owner-id': orgs.acme };
      expect(dataOf<StoredAgent>(await me.get(`/v1/ai/agents/name/${agent.name}`, owner))).toEqual(agent);
      const mine = dataOf<StoredAgent>(await me.post('/v1/ai/agents', greeter(randomUUID())));
      expect(mine).toMatchObject({ org_id: '', created_by: '' });
      expect(dataOf<StoredAgent>(await me.get(`/v1/ai/agents/name/${mine.name}`))).toEqual(mine);
      const launched = await me.post(`/v1/ai/agents/${mine.agent_id}/launch`, { values: { who: 'me' } });
      expect(launched.body['data'], launched.text).toMatchObject({ org_id: '', created_from_agent_id: mine.agent_id });
      expect(refusalOf(await as('creator').get(`/v1/ai/agents/${mine.agent_id}`))[0]).toBe(404);
    } finally {
      await local.stop();
    }
  });
});
