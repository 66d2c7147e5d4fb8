/** Names of who speaks, and which tools a model must call: from the request and the agent to each vendor's wire. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectTranscript } from '../../contract/transcript.js';
import { defineAgent } from '../../kit/index.js';
import type { AgentOptions } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import type { ScriptedProvider } from '../../providers/index.js';
import { VENDORS } from '../providers/vendors.js';
import { startWireServer } from '../providers/wire-server.js';
import type { WireServer } from '../providers/wire-server.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
let model: ScriptedProvider;
const servers = new Map<string, WireServer>();
const ECHO = 'test.tools.echo';
const SENT = {
  openai: { type: 'function', function: { name: 'test-tools-echo' } },
  anthropic: { type: 'tool', name: 'test-tools-echo' },
  gemini: { mode: 'ANY', allowedFunctionNames: ['test-tools-echo'] },
};

beforeAll(async () => {
  const config = testConfig({ model_max_attempts: 2 });
  model = scripted(scriptFromInput);
  const tools = config.agents?.[0]?.options.tools ?? [];
  const agent = (agent_id: string, options: Partial<AgentOptions>) =>
    defineAgent({ agent_id, instructions: 'Follow the script.', tools, ...options });
  const models: typeof config.models = { script: { provider: model, model: 'scripted-1' } };
  const agents = [
    agent('test.plain', {}),
    agent('test.named', { name: 'Flight desk' }),
    agent('test.must', { tool_choice: 'required' }),
    agent('test.echo', { tool_choice: ECHO }),
    agent('test.never', { tool_choice: 'none' }),
    agent('test.bare', { tool_choice: 'required', tools: [] }),
    agent('test.planned', {
      tool_choice: ECHO,
      planner: async (context) => ({ completion: await context.model.invoke() }),
    }),
  ];
  for (const vendor of VENDORS) {
    const server = await startWireServer(vendor.path);
    servers.set(vendor.name, server);
    server.reply(vendor.stream('text'));
    models[vendor.name] = { provider: vendor.connect(server.baseURL), model: vendor.model };
    agents.push(agent(`test.${vendor.name}`, { model: vendor.name, tool_choice: ECHO, name: 'Flight desk' }));
  }
  world = await createWorld({ ...config, models, agents });
});
afterAll(async () => {
  await world.end();
  await Promise.all([...servers.values()].map((server) => server.close()));
});

async function play(agentId: string, input: string, request: Record<string, unknown> = {}) {
  const { run_id } = await world.client.runs.start({ agent_id: agentId, input, ...request });
  const log = await world.logOf(run_id);
  return { log, calls: model.calls.filter((made) => made.run_id === run_id) };
}

const twice = script([{ tool_calls: [call('tools.echo', { text: 'x' })] }, { text: 'ok' }]);

describe('a name', () => {
  it('of whoever asks is in the log and in the conversation, and is told to the model', async () => {
    const { log, calls } = await play('test.plain', twice, { input_name: 'Ada' });
    expect(ofType(log, 'run_started')).toMatchObject([{ input_name: 'Ada' }]);
    expect(projectTranscript(log)[0]).toMatchObject({ role: 'user', name: 'Ada' });
    expect(calls.map(({ messages }) => messages[1])).toMatchObject([{ name: 'Ada' }, { name: 'Ada' }]);
    expect(calls[1]?.messages.filter(({ role }) => role !== 'user').some((message) => 'name' in message)).toBe(false);
  });

  it('of the agent is that of its instructions and of all that it says', async () => {
    const { calls } = await play('test.named', twice);
    expect(calls[1]?.messages.map((message) => [message.role, 'name' in message ? message.name : undefined])).toEqual([
      ['system', 'Flight desk'],
      ['user', undefined],
      ['assistant', 'Flight desk'],
      ['tool', undefined],
    ]);
  });

  it('that is empty is refused', async () => {
    await expect(play('test.plain', twice, { input_name: '' })).rejects.toThrow(/input_name/);
  });

  it('is not shown to those who may not see the input', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.plain', input: twice, input_name: 'Ada' });
    for await (const event of world.client.runs.stream(run_id, { profile: 'metrics' })) {
      if (event.type === 'run_started') expect(event).not.toHaveProperty('input_name');
    }
  });
});

describe('the choice of tools', () => {
  it.each([
    ['test.plain', ['auto', 'auto']],
    ['test.must', ['required', 'auto']],
    ['test.echo', [ECHO, 'auto']],
  ])('of %s is that of its first model call: %s', async (agentId, choices) => {
    const { calls, log } = await play(agentId, twice);
    expect(calls.map(({ tool_choice }) => tool_choice)).toEqual(choices);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
  });

  it('none holds for all of them', async () => {
    const { calls } = await play('test.never', script([{ text: 'ok' }]));
    expect(calls.map(({ tool_choice }) => tool_choice)).toEqual(['none']);
  });

  it('holds for every attempt at the first call', async () => {
    const [first, second] = (JSON.parse(twice) as { turns: object[] }).turns;
    const fails = { ...first, attempts: [{ fail: { code: 'model_server_error' } }, {}] };
    const { calls } = await play('test.must', JSON.stringify({ turns: [fails, second] }));
    expect(calls.map(({ tool_choice, attempt }) => [tool_choice, attempt])).toEqual([
      ['required', 1],
      ['required', 2],
      ['auto', 1],
    ]);
  });

  it('is a planner’s too, unless it says otherwise', async () => {
    const { calls } = await play('test.planned', twice);
    expect(calls.map(({ tool_choice }) => tool_choice)).toEqual([ECHO, 'auto']);
  });

  it('of a tool that the request’s policy takes away is left to the model', async () => {
    const { calls } = await play('test.echo', script([{ text: 'ok' }]), { policy: { deny: ['test.tools.*'] } });
    expect(calls.map(({ tool_choice }) => tool_choice)).toEqual(['auto']);
  });

  it('of an agent that has no tools is left out', async () => {
    const { calls } = await play('test.bare', script([{ text: 'ok' }]));
    expect(calls.map(({ tool_choice }) => tool_choice)).toEqual(['auto']);
  });

  it.each(VENDORS)('reaches $name, with the names of those who speak', async ({ name, wire }) => {
    const input_name = 'Ada';
    const { log } = await play(`test.${name}`, 'hello', { input_name });
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    const { body } = servers.get(name)!.requests[0]!;
    expect(wire.toolChoice(body)).toEqual(SENT[name]);
    // One has a field for it; to the others it is said.
    if (name === 'openai')
      expect(body['messages']).toMatchObject([
        { role: 'system', name: 'Flight_desk' },
        { role: 'user', name: 'Ada' },
      ]);
    else expect(JSON.stringify(wire.userParts(body))).toContain('Ada says:');
  });
});
