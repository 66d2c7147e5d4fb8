/** Stored agents on disk: several writers, writers that die, names. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { AgentContents } from '../../contract/stored-agent.js';
import { createStoredAgents } from '../../store/stored-agents.js';

const ann = { org_id: 'acme', user_id: 'ann' };
const bob = { org_id: 'acme', user_id: 'bob' };
let folder = '';

beforeEach(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'perdure-stored-agents-'));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  folder = join(parent, 'deep', 'agents');
});

function named(name: string, more: Partial<AgentContents> = {}): AgentContents {
  return { name, description: null, request_template: { messages: [] }, variables: [], ...more };
}

async function stateFiles(): Promise<string[]> {
  const [org = ''] = await readdir(folder);
  return (await readdir(join(folder, org))).map((name) => join(folder, org, name));
}

describe('stored agents', () => {
  it('are found by id and by name, in their org only, and by whoever opens the folder next', async () => {
    const agents = createStoredAgents(folder);
    expect(await agents.list('acme')).toEqual([]);
    expect(await agents.find('agt_1')).toBeUndefined();
    const made = await agents.create(named('triage'), ann);
    expect(made).toMatchObject({ name: 'triage', org_id: 'acme', created_by: 'ann', modified_by: 'ann' });
    expect(made.agent_id).toMatch(/^agt_[0-9a-f]{18}$/);
    const others = createStoredAgents(folder);
    expect(await others.find(made.agent_id)).toEqual(made);
    expect(await others.find(made.agent_id, 'acme')).toEqual(made);
    expect(await others.find(made.agent_id, 'globex')).toBeUndefined();
    expect(await others.findByName('triage', 'acme')).toEqual(made);
    expect(await others.findByName('triage', 'globex')).toBeUndefined();
  });

  it('have a name of their own in their org; the same again by the same user is the agent that is there', async () => {
    const agents = createStoredAgents(folder);
    const made = await agents.create(named('triage'), ann);
    expect(await agents.create(named('triage'), ann)).toEqual(made);
    await expect(agents.create(named('triage'), bob)).rejects.toMatchObject({ code: 'agent_exists' });
    await expect(agents.create(named('triage', { description: 'x' }), ann)).rejects.toThrow(made.agent_id);
    expect(await agents.list('acme')).toEqual([made]);
    const elsewhere = await agents.create(named('triage'), { org_id: 'globex', user_id: 'ann' });
    expect(elsewhere.agent_id).not.toBe(made.agent_id);
  });

  it('are renamed to a free name only, and leave theirs to others when they go', async () => {
    const agents = createStoredAgents(folder);
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
    const agents = createStoredAgents(folder);
    const made: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { created, agent_id } = await agents.create(named(name), ann);
      made.push(agent_id);
      while (new Date().toISOString() === created) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await agents.list('acme')).map(({ agent_id }) => agent_id)).toEqual(made.toReversed());
  });
});

describe('several writers at once', () => {
  it('lose none of one another’s agents, and give a name once', async () => {
    const writers = Array.from({ length: 8 }, () => createStoredAgents(folder));
    const made = await Promise.all(
      writers.flatMap((agents, n) => [0, 1, 2].map((m) => agents.create(named(`${n}-${m}`), ann))),
    );
    const ids = (await createStoredAgents(folder).list('acme')).map(({ agent_id }) => agent_id);
    expect(ids.toSorted()).toEqual(made.map(({ agent_id }) => agent_id).toSorted());
    const same = await Promise.allSettled(
      writers.map((agents, n) => agents.create(named('wanted'), { org_id: 'acme', user_id: `user-${n}` })),
    );
    expect(same.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refused = same.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    for (const reason of refused) expect(reason).toMatchObject({ code: 'agent_exists' });
  });

  it('keep both of two edits of one agent', async () => {
    const [one, other] = [createStoredAgents(folder), createStoredAgents(folder)];
    const made = await one.create(named('shared'), ann);
    await Promise.all([
      one.update(made, (agent) => ({ ...agent, description: 'said' }), 'ann'),
      other.update(made, (agent) => ({ ...agent, name: 'renamed' }), 'bob'),
    ]);
    expect(await one.find(made.agent_id)).toMatchObject({ description: 'said', name: 'renamed' });
  });

  it('that are processes, and are killed in the middle of a write, leave all that they had stored', async () => {
    const children = ['left', 'right'].map((prefix) => {
      const script = join(import.meta.dirname, 'fixtures', 'write-agents.ts');
      const child = spawn(process.execPath, ['--import', 'tsx', script, folder, 'acme', prefix, '900']);
      onTestFinished(() => void child.kill('SIGKILL'));
      const stored: string[] = [];
      const lines = createInterface({ input: child.stdout });
      lines.on('line', (line) => {
        stored.push(line);
        if (stored.length === 25) child.kill('SIGKILL');
      });
      return { stored, ended: Promise.all([once(child, 'close'), once(lines, 'close')]) };
    });
    const signals = await Promise.all(children.map(async ({ ended }) => (await ended)[0][1] as string));
    expect(signals).toEqual(['SIGKILL', 'SIGKILL']);
    const agents = createStoredAgents(folder);
    const kept = new Set((await agents.list('acme')).map(({ agent_id }) => agent_id));
    const said = children.flatMap(({ stored }) => stored);
    expect(said.length).toBeGreaterThanOrEqual(50);
    expect(said.filter((id) => !kept.has(id))).toEqual([]);
    expect(await agents.create(named('and on'), ann)).toMatchObject({ name: 'and on' });
  });
});

describe('the files of stored agents', () => {
  it('are not read where they are broken or of another version, and are not quoted', async () => {
    const agents = createStoredAgents(folder);
    await agents.create(named('triage'), ann);
    const [path = ''] = await stateFiles();
    await writeFile(path, 'secret-looking text');
    await expect(agents.list('acme')).rejects.toThrow(/cannot be read: the file is no JSON/);
    await expect(agents.list('acme')).rejects.not.toThrow(/secret-looking/);
    await writeFile(path, JSON.stringify({ version: 2, agents: [] }));
    await expect(agents.create(named('other'), ann)).rejects.toMatchObject({ code: 'invalid_config' });
  });

  it('keep what a newer gateway has written into them', async () => {
    const agents = createStoredAgents(folder);
    const made = await agents.create(named('triage'), ann);
    const [path = ''] = await stateFiles();
    await writeFile(path, JSON.stringify({ version: 1, agents: [{ ...made, shared_with: ['globex'] }] }));
    await agents.update(made, (agent) => ({ ...agent, description: 'edited' }), 'bob');
    expect(await agents.find(made.agent_id)).toMatchObject({ description: 'edited', shared_with: ['globex'] });
  });

  it('hold a thousand agents of an org at most', async () => {
    const agents = createStoredAgents(folder);
    const made = await agents.create(named('triage'), ann);
    const [path = ''] = await stateFiles();
    const many = Array.from({ length: 1_000 }, (_, n) => ({ ...made, name: `${n}`, agent_id: `agt_${n}` }));
    await writeFile(path, JSON.stringify({ version: 1, agents: many }));
    await expect(agents.create(named('one more'), ann)).rejects.toThrow(/has 1000 stored agents, and cannot have more/);
    await agents.remove({ ...made, agent_id: 'agt_1' });
    expect(await agents.create(named('one more'), ann)).toMatchObject({ name: 'one more' });
  });

  it('of states that are long past go, with what a crash has left; younger ones stay', async () => {
    const agents = createStoredAgents(folder);
    await agents.create(named('first'), ann);
    await agents.create(named('second'), ann);
    const [first = '', second = ''] = (await stateFiles()).toSorted();
    const half = `${second}.of-a-crash.tmp`;
    await writeFile(half, '{"vers');
    const longAgo = Date.now() / 1_000 - 7_200;
    await Promise.all([first, half].map((path) => utimes(path, longAgo, longAgo)));
    await agents.create(named('third'), ann);
    const left = await stateFiles();
    expect(left).toHaveLength(2);
    expect(left).toContain(second);
    expect(await createStoredAgents(folder).list('acme')).toHaveLength(3);
  });
});
