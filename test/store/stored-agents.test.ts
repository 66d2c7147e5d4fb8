/** Stored agents in the database: several writers, writers that die, names. */
import { beforeEach, describe, expect, it } from 'vitest';
import { STORED_AGENTS_CHARS } from '../../contract/sizes.js';
import type { AgentContents } from '../../contract/stored-agent.js';
import { createStoredAgents, toAgentRow } from '../../store/stored-agents.js';
import { startFixture } from './fixture-process.js';
import { onBothDatabases } from './databases.js';
import type { Place } from './databases.js';

const ann = { org_id: 'acme', user_id: 'ann' };
const bob = { org_id: 'acme', user_id: 'bob' };

function named(name: string, more: Partial<AgentContents> = {}): AgentContents {
  return { name, description: null, request_template: { messages: [] }, variables: [], ...more };
}

onBothDatabases('stored agents', (fresh) => {
  let place: Place;
  beforeEach(async () => {
    place = await fresh();
  });
  const open = async () => createStoredAgents(await place.open());

  it('are found by id and by name, in their org only, and by whoever opens the database next', async () => {
    const agents = await open();
    expect(await agents.list('acme')).toEqual([]);
    expect(await agents.find('agt_1')).toBeUndefined();
    const made = await agents.create(named('triage'), ann);
    expect(made).toMatchObject({ name: 'triage', org_id: 'acme', created_by: 'ann', modified_by: 'ann' });
    expect(made.agent_id).toMatch(/^agt_[0-9a-f]{18}$/);
    const others = await open();
    expect(await others.find(made.agent_id)).toEqual(made);
    expect(await others.find(made.agent_id, 'acme')).toEqual(made);
    expect(await others.find(made.agent_id, 'globex')).toBeUndefined();
    expect(await others.findByName('triage', 'acme')).toEqual(made);
    expect(await others.findByName('triage', 'globex')).toBeUndefined();
  });

  it('have a name of their own in their org; the same again by the same user is the agent that is there', async () => {
    const agents = await open();
    const made = await agents.create(named('triage'), ann);
    expect(await agents.create(named('triage'), ann)).toEqual(made);
    await expect(agents.create(named('triage'), bob)).rejects.toMatchObject({ code: 'agent_exists' });
    await expect(agents.create(named('triage', { description: 'x' }), ann)).rejects.toThrow(made.agent_id);
    expect(await agents.list('acme')).toEqual([made]);
    const elsewhere = await agents.create(named('triage'), { org_id: 'globex', user_id: 'ann' });
    expect(elsewhere.agent_id).not.toBe(made.agent_id);
  });

  it('are renamed to a free name only, and leave theirs to others when they go', async () => {
    const agents = await open();
    const [first, second] = [await agents.create(named('one'), ann), await agents.create(named('two'), ann)];
    const rename = (name: string) => agents.update(second, (agent) => ({ ...agent, name }), 'bob');
    await expect(rename('one')).rejects.toMatchObject({ code: 'agent_exists' });
    expect(await rename('three')).toMatchObject({ agent_id: second.agent_id, name: 'three', modified_by: 'bob' });
    expect(await agents.findByName('two', 'acme')).toBeUndefined();
    expect(await agents.remove(first)).toBe(true);
    expect(await agents.remove(first)).toBe(false);
    expect(await agents.update(first, (agent) => agent, 'ann')).toBeUndefined();
    expect(await rename('one')).toMatchObject({ name: 'one' });
    expect(await agents.list('acme')).toHaveLength(1);
  });

  it('are listed newest first', async () => {
    const agents = await open();
    const made: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { created, agent_id } = await agents.create(named(name), ann);
      made.push(agent_id);
      while (new Date().toISOString() === created) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await agents.list('acme')).map(({ agent_id }) => agent_id)).toEqual(made.toReversed());
  });

  describe('several writers at once', () => {
    it('lose none of one another’s agents, and give a name once', async () => {
      const writers = await Promise.all(Array.from({ length: 8 }, open));
      const made = await Promise.all(
        writers.flatMap((agents, n) => [0, 1, 2].map((m) => agents.create(named(`${n}-${m}`), ann))),
      );
      const ids = (await (await open()).list('acme')).map(({ agent_id }) => agent_id);
      expect(ids.toSorted()).toEqual(made.map(({ agent_id }) => agent_id).toSorted());
      const same = await Promise.allSettled(
        writers.map((agents, n) => agents.create(named('wanted'), { org_id: 'acme', user_id: `user-${n}` })),
      );
      expect(same.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const refused = same.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
      for (const reason of refused) expect(reason).toMatchObject({ code: 'agent_exists' });
    });

    it('keep both of two edits of one agent', async () => {
      const [one, other] = [await open(), await open()];
      const made = await one.create(named('shared'), ann);
      await Promise.all([
        one.update(made, (agent) => ({ ...agent, description: 'said' }), 'ann'),
        other.update(made, (agent) => ({ ...agent, name: 'renamed' }), 'bob'),
      ]);
      expect(await one.find(made.agent_id)).toMatchObject({ description: 'said', name: 'renamed' });
    });

    it('that are processes, and are killed in the middle of a write, leave all that they had stored', async () => {
      const { dataDir, url } = place.options;
      const where = JSON.stringify({ dataDir, url });
      const children = ['left', 'right'].map((prefix) => {
        const child = startFixture('write-agents', where, 'acme', prefix, '900');
        const stored: string[] = [];
        const read = async () => {
          while (stored.length < 25) stored.push(await child.nextLine());
          child.kill();
          return (await child.ended).signal;
        };
        return { stored, read };
      });
      expect(await Promise.all(children.map(({ read }) => read()))).toEqual(['SIGKILL', 'SIGKILL']);
      const agents = await open();
      const kept = new Set((await agents.list('acme')).map(({ agent_id }) => agent_id));
      const said = children.flatMap(({ stored }) => stored);
      expect(said.length).toBeGreaterThanOrEqual(50);
      expect(said.filter((id) => !kept.has(id))).toEqual([]);
      expect(await agents.create(named('and on'), ann)).toMatchObject({ name: 'and on' });
    });
  });

  describe('in its table', () => {
    it('is not read where it is broken, and not quoted', async () => {
      const database = await place.open();
      const agents = createStoredAgents(database);
      await agents.create(named('triage'), ann);
      await database.query.updateTable('stored_agents').set({ agent: 'secret-looking text' }).execute();
      await expect(agents.list('acme')).rejects.toThrow(/cannot be read: it is no JSON/);
      await expect(agents.list('acme')).rejects.not.toThrow(/secret-looking/);
      await database.query.updateTable('stored_agents').set({ agent: '{}' }).execute();
      await expect(agents.findByName('triage', 'acme')).rejects.toMatchObject({ code: 'database_unusable' });
    });

    it('keeps what a newer gateway has written into it', async () => {
      const database = await place.open();
      const agents = createStoredAgents(database);
      const made = await agents.create(named('triage'), ann);
      const newer = JSON.stringify({ ...made, shared_with: ['globex'] });
      await database.query.updateTable('stored_agents').set({ agent: newer }).execute();
      await agents.update(made, (agent) => ({ ...agent, description: 'edited' }), 'bob');
      expect(await agents.find(made.agent_id)).toMatchObject({ description: 'edited', shared_with: ['globex'] });
    });

    it('has up to 999 others of its org', async () => {
      const database = await place.open();
      const agents = createStoredAgents(database);
      const made = await agents.create(named('triage'), ann);
      const many = Array.from({ length: 999 }, (_, n) => ({ ...made, name: `${n}`, agent_id: `agt_${n}` }));
      await database.query.insertInto('stored_agents').values(many.map(toAgentRow)).execute();
      const both = [named('one more'), named('and another')];
      for (const each of both) {
        await expect(agents.create(each, ann)).rejects.toThrow(/has 1000 stored agents, and cannot have more/);
      }
      await agents.remove({ ...made, agent_id: 'agt_1' });
      const tried = await Promise.allSettled(both.map(async (each) => (await open()).create(each, ann)));
      expect(tried.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });

    it('shares a bound of characters with the others of its org, and can always become smaller', async () => {
      const database = await place.open();
      const agents = createStoredAgents(database);
      const sized = (name: string, size: number) => named(name, { description: 'x'.repeat(size) });
      const quarter = STORED_AGENTS_CHARS / 4;
      for (const name of ['a', 'b', 'c']) await agents.create(sized(name, quarter), ann);
      const refused = expect.stringMatching(
        /^with this one the stored agents of the org would have 83\d{5} characters/,
      );
      await expect(agents.create(sized('d', quarter), ann)).rejects.toMatchObject({
        code: 'input_too_large',
        message: refused,
      });
      const d = await agents.create(sized('d', quarter - 4_000), ann);
      const resize = (size: number) =>
        agents.update(d, (agent) => ({ ...agent, description: 'x'.repeat(size) }), 'ann');
      await expect(resize(quarter)).rejects.toMatchObject({ code: 'input_too_large' });
      expect((await agents.find(d.agent_id))?.description).toHaveLength(quarter - 4_000);
      // As it was before there was a bound.
      const large = { ...d, agent_id: 'agt_large', name: 'large', description: 'x'.repeat(quarter) };
      await database.query.insertInto('stored_agents').values(toAgentRow(large)).execute();
      expect(await resize(10)).toMatchObject({ description: 'xxxxxxxxxx' });
      await expect(resize(quarter)).rejects.toMatchObject({ code: 'input_too_large' });
      expect(await agents.create(sized('d', 10), { org_id: 'globex', user_id: 'gus' })).toMatchObject({ name: 'd' });
    });

    it('may have any character in its name', async () => {
      const agents = await open();
      const made = await agents.create(named("zero \0, quote ' and \ud83d\ude00"), ann);
      expect(await agents.findByName(made.name, 'acme')).toEqual(made);
      await expect(agents.create(named(made.name), bob)).rejects.toMatchObject({ code: 'agent_exists' });
    });
  });
});
