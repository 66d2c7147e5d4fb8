/** Stored agents over a real gateway: what is kept, what is refused, and with which words. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { StoredAgent } from '../../../contract/stored-agent.js';
import { recordsIn } from '../../support/records.js';
import type { Caller } from '../gateway-world.js';
import { serveFor } from '../gateway-world.js';
import { createThreadGateway, dataOf, refusalOf, THREAD_CATALOG } from '../threads/thread-gateway.js';
import type { ThreadGateway } from '../threads/thread-gateway.js';
import { greeter, isDescribed } from './greeter.js';

let world: ThreadGateway['world'];
let orgs: ThreadGateway['orgs'];
let callers: ThreadGateway['callers'];
let stop: ThreadGateway['stop'];

beforeAll(async () => {
  ({ world, orgs, callers, stop } = await createThreadGateway());
});
afterAll(() => stop());

interface AgentPage {
  items: StoredAgent[];
  next_token: string | null;
}

const create = async (body: object, by: Caller = callers.ann) =>
  dataOf<StoredAgent>(await by.post('/v1/ai/agents', body));

describe('a stored agent', () => {
  it('is given out as it was sent, with whose it is', async () => {
    const answer = await callers.ann.post('/v1/ai/agents', greeter('greeter', { description: 'Greets.' }));
    isDescribed('createStoredAgent', answer);
    const agent = dataOf<StoredAgent>(answer);
    expect(agent).toEqual({
      ...greeter('greeter', { description: 'Greets.' }),
      agent_id: expect.stringMatching(/^agt_/),
      org_id: orgs.acme,
      created: agent.created,
      created_by: 'ann',
      modified: agent.created,
      modified_by: 'ann',
      request_template: {
        messages: [{ role: 'user', content: [{ content_type: 'text', text: expect.stringContaining('{{who}}') }] }],
      },
      variables: [
        {
          name: 'who',
          type: 'string',
          description: null,
          required: true,
          default: null,
          collection_content_type: null,
        },
      ],
    });
    for (const path of [agent.agent_id, 'name/greeter']) {
      const read = await callers.bob.get(`/v1/ai/agents/${path}`);
      expect(dataOf<StoredAgent>(read)).toEqual(agent);
    }
    isDescribed('readStoredAgent', await callers.ann.get(`/v1/ai/agents/${agent.agent_id}`));
    isDescribed('listStoredAgents', await callers.ann.get('/v1/ai/agents'));
  });

  it('that is sent again byte for byte is the same one; another one of its name is refused', async () => {
    const agent = await create(greeter('once'));
    expect(await create(greeter('once'))).toEqual(agent);
    const conflict = [409, 'RobotoConflictException', expect.stringContaining(agent.agent_id)];
    expect(refusalOf(await callers.bob.post('/v1/ai/agents', greeter('once')))).toEqual(conflict);
    expect(refusalOf(await callers.ann.post('/v1/ai/agents', greeter('once', { description: 'x' })))).toEqual(conflict);
    expect((await create(greeter('once'), callers.gus)).agent_id).not.toBe(agent.agent_id);
  });

  it('may have any name, also one that looks like a part of a path', async () => {
    for (const name of ['launch', 'name', 'a/b', 'Größe 100 %', '../..', ' ']) {
      const { agent_id } = await create(greeter(name));
      const found = await callers.ann.get(`/v1/ai/agents/name/${encodeURIComponent(name)}`);
      expect(dataOf<StoredAgent>(found).agent_id, name).toBe(agent_id);
    }
  });

  it('is changed in part: what is absent stays, a null description clears it', async () => {
    const agent = await create(greeter('changing', { description: 'Greets.' }));
    const path = `/v1/ai/agents/${agent.agent_id}`;
    const renamed = await callers.bob.call('PUT', path, { name: 'changed' });
    isDescribed('updateStoredAgent', renamed);
    expect(dataOf<StoredAgent>(renamed)).toEqual({
      ...agent,
      name: 'changed',
      modified_by: 'bob',
      modified: expect.any(String),
    });
    expect(dataOf<StoredAgent>(await callers.ann.call('PUT', path, { description: null })).description).toBeNull();
    const request_template = { messages: ['Greet {{one}} and {{two}}.'] };
    const half = await callers.ann.call('PUT', path, { request_template });
    expect(refusalOf(half)).toEqual([400, 'RobotoInvalidRequestException', expect.stringContaining('{{two}}')]);
    const variables = [{ name: 'one' }, { name: 'two', required: false, default: 'all' }];
    const both = dataOf<StoredAgent>(await callers.ann.call('PUT', path, { request_template, variables }));
    expect(both.request_template).toEqual({
      messages: [{ role: 'user', content: [{ content_type: 'text', text: 'Greet {{one}} and {{two}}.' }] }],
    });
    expect(refusalOf(await callers.ann.call('PUT', path, { name: 'once' }))[0]).toBe(409);
    expect(dataOf<StoredAgent>(await callers.ann.get(path))).toEqual(both);
  });

  it('keeps the agent of the configuration that runs it when its template is replaced', async () => {
    const agent = await create({ name: 'of bare', request_template: { agent_id: 'test.bare', messages: ['hi'] } });
    const put = (request_template: object) =>
      callers.ann.call('PUT', `/v1/ai/agents/${agent.agent_id}`, { request_template });
    expect(dataOf<StoredAgent>(await put({ messages: ['hello'] })).request_template).toMatchObject({
      agent_id: 'test.bare',
    });
    const other = { agent_id: 'test.agent', messages: ['hello'] };
    expect(dataOf<StoredAgent>(await put(other)).request_template).toMatchObject({ agent_id: 'test.agent' });
  });

  it('is gone once it is deleted, and its name is free', async () => {
    const agent = await create(greeter('going'));
    const path = `/v1/ai/agents/${agent.agent_id}`;
    const gone = await callers.bob.call('DELETE', path);
    isDescribed('deleteStoredAgent', gone);
    expect(gone.status).toBe(200);
    const missing = [404, 'RobotoNotFoundException', expect.stringContaining(agent.agent_id)];
    for (const answer of [
      await callers.ann.get(path),
      await callers.ann.call('DELETE', path),
      await callers.ann.call('PUT', path, { name: 'x' }),
    ]) {
      expect(refusalOf(answer)).toEqual(missing);
    }
    expect(refusalOf(await callers.ann.post(`${path}/launch`, { values: { who: 'you' } }))).toEqual(missing);
    expect((await create(greeter('going'))).agent_id).not.toBe(agent.agent_id);
  });

  it('is seen by every gateway on the same folder at once, and after a restart', async () => {
    const second = await serveFor(world, orgs.auth, { catalog: THREAD_CATALOG });
    try {
      const agent = await create(greeter('shared'));
      const elsewhere = second.as(orgs.ann);
      expect(dataOf<StoredAgent>(await elsewhere.get(`/v1/ai/agents/${agent.agent_id}`))).toEqual(agent);
      dataOf<StoredAgent>(await elsewhere.call('PUT', `/v1/ai/agents/${agent.agent_id}`, { description: 'there' }));
      expect(dataOf<StoredAgent>(await callers.ann.get(`/v1/ai/agents/${agent.agent_id}`)).description).toBe('there');
    } finally {
      await second.stop();
    }
  });
});

describe('a list of stored agents', () => {
  it('has them all, page by page and newest first, while others come and go', async () => {
    const { agents, close } = await recordsIn(world.server.dataDir);
    onTestFinished(close);
    const contents = { description: null, request_template: { messages: ['hi'] }, variables: [] };
    const owner = { org_id: orgs.globex, user_id: 'gus' };
    for (let n = 0; n < 60; n++) await agents.create({ ...contents, name: `listed ${n}` }, owner);
    const before = (await agents.list(orgs.globex)).map(({ agent_id }) => agent_id);
    const first = dataOf<AgentPage>(await callers.gus.get('/v1/ai/agents'));
    expect(first.items).toHaveLength(50);
    const last = await agents.find(first.items.at(-1)?.agent_id ?? '');
    if (last === undefined) throw new Error('the last of the page is not there');
    await agents.remove(last);
    await agents.create({ ...contents, name: 'newer' }, owner);
    const rest = dataOf<AgentPage>(await callers.gus.get(`/v1/ai/agents?page_token=${first.next_token}`));
    expect(rest.next_token).toBeNull();
    expect([...first.items, ...rest.items].map(({ agent_id }) => agent_id)).toEqual(before);
    const token = refusalOf(await callers.gus.get('/v1/ai/agents?page_token=bm90IG9uZQ'));
    expect(token).toEqual([400, 'RobotoInvalidRequestException', expect.stringContaining('page_token')]);
  });

  it('is that of one’s own org, whatever the headers say', async () => {
    const foreign = { 'x-roboto-org-id': orgs.acme };
    for (const answer of [
      await callers.gus.get('/v1/ai/agents', foreign),
      await callers.gus.post('/v1/ai/agents', greeter('smuggled'), foreign),
    ]) {
      expect(refusalOf(answer)).toEqual([
        403,
        'RobotoUnauthorizedException',
        expect.stringContaining('X-Roboto-Org-Id'),
      ]);
    }
    const ours = dataOf<AgentPage>(await callers.ann.get('/v1/ai/agents', { 'x-roboto-org-id': orgs.acme }));
    expect(ours.items.map(({ org_id }) => org_id).filter((org) => org !== orgs.acme)).toEqual([]);
    const { name } = await create(greeter('only ours'));
    const path = `/v1/ai/agents/name/${encodeURIComponent(name)}`;
    expect(refusalOf(await callers.gus.get(path, { 'x-roboto-resource-owner-id': orgs.acme }))[0]).toBe(404);
    expect(refusalOf(await callers.ann.get(path, { 'x-roboto-resource-owner-id': orgs.globex }))[0]).toBe(404);
    expect((await callers.ann.get(path, { 'x-roboto-resource-owner-id': orgs.acme })).status).toBe(200);
  });
});

describe('what cannot be stored', () => {
  const template = (request_template: object, variables: object[] = []) => ({
    name: 'bad',
    request_template,
    variables,
  });
  const said = (text: string) => ({ messages: [text] });
  it.each([
    ['no name', { request_template: said('hi') }, 'name'],
    ['an empty name', { name: '', request_template: said('hi') }, 'name'],
    ['no template', { name: 'bad' }, 'request_template'],
    ['a field that is not known', { ...template(said('hi')), descripton: 'x' }, 'descripton'],
    ['a field of the template that is not known', template({ ...said('hi'), mesages: [] }), 'request_template.mesages'],
    ['a message without text', template({ messages: [{ content: [{}] }] }), 'request_template.messages.0'],
    ['neither message nor goal', template({}), 'request_template.messages'],
    [
      'a message of the assistant at the end',
      template({ messages: [{ role: 'assistant', content: [{ text: 'hi' }] }] }),
      'request_template.messages',
    ],
    ['six goals', template({ goals: Array(6).fill({ goal_type: 'summary' }) }), 'request_template.goals'],
    ['skills', template({ ...said('hi'), invoke_skills: [{ skill_id: 's' }] }), 'request_template.invoke_skills'],
    ['an id of a thread', template({ ...said('hi'), thread_id: 'x' }), 'request_template.thread_id'],
    [
      'a placeholder without a variable',
      template(said('{{ who }}')),
      'request_template.messages.0.content.0.text: {{who}}',
    ],
    [
      'a variable without a placeholder',
      template(said('hi'), [{ name: 'who' }]),
      'variables.0.name: "who" is not used',
    ],
    [
      'a variable twice',
      template(said('{{a}}'), [{ name: 'a' }, { name: 'a' }]),
      'variables.1.name: "a" is there twice',
    ],
    [
      'a placeholder in a key',
      template({ ...said('hi'), client_context: { '{{a}}': 1 } }),
      'request_template.client_context.{{a}}: a placeholder cannot be in a key',
    ],
    ['a name that no placeholder can have', template(said('hi'), [{ name: '1st' }]), 'variables.0.name'],
    ['a type that is not known', template(said('{{a}}'), [{ name: 'a', type: 'number' }]), 'variables.0.type'],
    [
      'an optional variable without a default',
      template(said('{{a}}'), [{ name: 'a', required: false }]),
      'variables.0.default',
    ],
    [
      'a type of collection for a text',
      template(said('{{a}}'), [{ name: 'a', collection_content_type: 'event' }]),
      'variables.0.collection_content_type',
    ],
  ])('%s is refused by its path', async (_what, body, path) => {
    const [status, code, message] = refusalOf(await callers.ann.post('/v1/ai/agents', body));
    expect([status, code]).toEqual([400, 'RobotoInvalidRequestException']);
    expect(message).toContain(path);
    expect(refusalOf(await callers.ann.get('/v1/ai/agents/name/bad'))[0]).toBe(404);
  });

  it('is also what names an agent or a profile that is not configured', async () => {
    const unknown = template({ agent_id: 'test.nobody', messages: ['hi'] });
    expect(refusalOf(await callers.ann.post('/v1/ai/agents', unknown))).toEqual([
      404,
      'RobotoNotFoundException',
      expect.stringContaining('test.nobody'),
    ]);
    const profile = template({ model_profile: 'huge', messages: ['hi'] });
    expect(refusalOf(await callers.ann.post('/v1/ai/agents', profile))[2]).toContain('"huge"');
    const open = { model_profile: '{{profile}}', messages: ['hi'] };
    await create({ name: 'any profile', request_template: open, variables: [{ name: 'profile' }] });
  });

  it('is what is too large to be launched', async () => {
    const answer = await callers.ann.post('/v1/ai/agents', template(said('x'.repeat(3_000_000))));
    expect(answer.status).toBe(413);
  });
});
