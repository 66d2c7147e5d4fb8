import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentSpec } from '../../contract/agent-spec.js';
import type { ModelProvider } from '../../contract/model-provider.js';
import { isPerdureError } from '../../contract/errors.js';
import { RunLimits } from '../../contract/limits.js';
import { ToolSpec } from '../../contract/tools.js';
import { defineAgent, defineConfig, defineTool } from '../../kit/index.js';
import type { AgentOptions, ConfigOptions, Tool, ToolOptions } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';

const provider: ModelProvider = {
  name: 'silent',
  async *stream() {},
};
const models = { fast: { provider, model: 'small' } };

describe('the registry of a configuration without mistakes', () => {
  it('has its agents, its tools and its models by their names', () => {
    const read = tool({ tool_id: 'web.pages.read' });
    const registry = createRegistry(config({ agents: [agent({ tools: [read] })] }));
    expect([...registry.agents.keys()]).toEqual(['demo.assistant']);
    expect(registry.tools.get('web.pages.read')?.tool).toBe(read);
    expect([...registry.models.keys()]).toEqual(['fast']);
  });

  it('lets two agents share a tool', () => {
    const shared = tool();
    const agents = [agent({ tools: [shared] }), agent({ agent_id: 'demo.other', tools: [shared] })];
    const registry = createRegistry(config({ agents }));
    expect(registry.tools.size).toBe(1);
    expect(registry.agents.get('demo.other')?.tools).toEqual(registry.agents.get('demo.assistant')?.tools);
  });

  it('has defaults for everything that was left out', () => {
    const registry = createRegistry(config({ agents: [agent({ tools: [tool()] })] }));
    expect(registry.agents.get('demo.assistant')).toMatchObject({
      profile: 'fast',
      limits: { run: { max_steps: 50, max_consecutive_failed_tool_calls: 5 } },
    });
    expect(registry.tools.get('web.pages.read')?.spec).toMatchObject({
      timeout_ms: 60_000,
      idempotent: false,
      max_attempts: 1,
      strict: true,
    });
    expect(registry.runtime).toEqual({
      model_timeout_ms: 600_000,
      model_max_attempts: 4,
      heartbeat_timeout_ms: 10_000,
      cancel_grace_ms: 5_000,
      signal_live: false,
    });
    expect(registry.context_cache_runs).toBe(200);
  });

  it('takes what was said over the defaults', () => {
    const registry = createRegistry(
      config({
        agents: [
          agent({
            model: 'deep',
            limits: { run: { max_steps: 3, time_budget: '2m' }, tree: { max_depth: 1 } },
            tools: [tool({ timeout: '1.5s', idempotent: true, max_attempts: 7 })],
          }),
        ],
        models: { ...models, deep: { provider, model: 'large' } },
        runtime: {
          model_timeout: '1m',
          model_max_attempts: 2,
          model_retry_for: '5m',
          heartbeat_timeout: 3_000,
          cancel_grace: '250ms',
          continue_as_new_after_events: 100,
          live: 'temporal',
          context_cache_runs: 0,
        },
      }),
    );
    expect(registry.agents.get('demo.assistant')).toMatchObject({
      profile: 'deep',
      limits: {
        run: { max_steps: 3, max_consecutive_failed_tool_calls: 5, time_budget: 120_000 },
        tree: { max_depth: 1 },
      },
    });
    expect(registry.tools.get('web.pages.read')?.spec).toMatchObject({
      timeout_ms: 1_500,
      idempotent: true,
      max_attempts: 7,
    });
    expect(registry.runtime).toEqual({
      model_timeout_ms: 60_000,
      model_max_attempts: 2,
      model_retry_ms: 300_000,
      heartbeat_timeout_ms: 3_000,
      cancel_grace_ms: 250,
      continue_as_new_after_events: 100,
      signal_live: true,
    });
    expect(registry.context_cache_runs).toBe(0);
  });

  it('gives a tool that is not idempotent one attempt, whatever was said', () => {
    const registry = createRegistry(config({ agents: [agent({ tools: [tool({ max_attempts: 5 })] })] }));
    expect(registry.tools.get('web.pages.read')?.spec.max_attempts).toBe(1);
  });

  it('gives an idempotent tool three attempts', () => {
    const registry = createRegistry(config({ agents: [agent({ tools: [tool({ idempotent: true })] })] }));
    expect(registry.tools.get('web.pages.read')?.spec.max_attempts).toBe(3);
  });

  it('takes the profile that is marked as the default, wherever it stands', () => {
    const registry = createRegistry(
      config({ models: { ...models, deep: { provider, model: 'large', default: true } } }),
    );
    expect(registry.agents.get('demo.assistant')?.profile).toBe('deep');
  });

  it('has specs that fit the contract', () => {
    const registry = createRegistry(
      config({ agents: [agent({ tools: [tool()], limits: { run: { time_budget: '1h' } } })] }),
    );
    const { tools, limits } = registry.agents.get('demo.assistant') ?? {};
    expect(z.array(ToolSpec).parse(tools)).toEqual(tools);
    expect(RunLimits.parse(limits)).toEqual(limits);
    expect(AgentSpec.shape.runtime.parse(registry.runtime)).toEqual(registry.runtime);
  });
});

describe('the parameters that a model is shown', () => {
  const parametersOf = (input: z.ZodType) =>
    createRegistry(config({ agents: [agent({ tools: [tool({ input })] })] })).tools.get('web.pages.read')?.spec
      .parameters;

  it('are JSON Schema, draft-07, with the descriptions of the fields', () => {
    const input = z.object({ url: z.url().describe('Where.'), depth: z.number().int().min(0).optional() });
    expect(parametersOf(input)).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        url: { type: 'string', format: 'uri', description: 'Where.' },
        depth: { type: 'integer', minimum: 0 },
      },
      required: ['url'],
    });
  });

  it('say draft-07 where drafts differ: a tuple is a list of items, not prefixItems', () => {
    const parameters = parametersOf(z.object({ point: z.tuple([z.number(), z.string()]) }));
    expect(parameters).toMatchObject({
      properties: { point: { type: 'array', items: [{ type: 'number' }, { type: 'string' }] } },
    });
    expect(JSON.stringify(parameters)).not.toContain('prefixItems');
  });

  it('are what the model writes, not what the tool gets: a default makes a field optional', () => {
    const input = z.object({ depth: z.number().default(1), when: z.string().transform((text) => new Date(text)) });
    expect(parametersOf(input)).toMatchObject({
      properties: { depth: { type: 'number', default: 1 }, when: { type: 'string' } },
      required: ['when'],
    });
  });
});

describe('a mistake in a configuration is reported with its file and field:', () => {
  it.each<[string, Partial<ConfigOptions>, string]>([
    ['no agents', { agents: [] }, 'agents is empty: define at least one with defineAgent()'],
    ['no models', { models: {} }, 'models is empty: give at least one model profile'],
    [
      'titles by a model that is not there',
      { threads: { title: { profile: 'slow' } } },
      'threads.title.profile "slow" is no model profile; there are: fast',
    ],
    [
      'threads that would hold more than a worker can',
      { threads: { max_bytes: 1_000_000_000 } },
      'threads.max_bytes 1000000000 is no number of bytes up to 33554432',
    ],
    [
      'an agent id that is not canonical',
      { agents: [agent({ agent_id: 'Assistant' })] },
      'agents[0].agent_id "Assistant" is not canonical: write service.agent in [a-z0-9_]',
    ],
    ['two agents of one id', { agents: [agent(), agent()] }, 'agents[1].agent_id "demo.assistant" is there twice'],
    [
      'an agent without instructions',
      { agents: [agent({ instructions: ' ' })] },
      'agents[0].instructions of demo.assistant are empty',
    ],
    [
      'an unknown model profile',
      { agents: [agent({ model: 'slow' })] },
      'agents[0].model "slow" is no model profile; there are: fast',
    ],
    [
      'a limit that is no number',
      { agents: [agent({ limits: { run: { max_steps: 0 } } })] },
      'agents[0].limits.run.max_steps Too small',
    ],
    [
      'a limit that there is not',
      { agents: [agent({ limits: { run: { max_step: 1 } as object } })] },
      'agents[0].limits.run Unrecognized key: "max_step"',
    ],
    [
      'a limit of what there is not',
      { agents: [agent({ limits: { runs: {} } as object })] },
      'agents[0].limits Unrecognized key: "runs"',
    ],
    [
      'a time budget that is no duration',
      { agents: [agent({ limits: { tree: { time_budget: 'soon' } } })] },
      'agents[0].limits.tree.time_budget is no duration',
    ],
    [
      'a choice of a tool that it does not have',
      { agents: [agent({ tool_choice: 'web.pages.write' })] },
      'agents[0].tool_choice "web.pages.write" is not auto, required, none or the id of one of its tools',
    ],
    [
      'two default profiles',
      { models: { a: { provider, model: 'x', default: true }, b: { provider, model: 'y', default: true } } },
      'models has more than one default: a, b',
    ],
    [
      'a stream profile that hides the end of a run',
      { profiles: { support: { kinds: { run_completed: 'omit' } } } },
      'profiles.support.kinds.run_completed cannot be omitted',
    ],
    [
      'a stream profile with the name of one that ships',
      { profiles: { user_chat: { kinds: { run_completed: 'include' } } } },
      'profiles.user_chat has the name of a profile that ships',
    ],
    [
      'a stream profile with a name that no credential could have',
      { profiles: { 'my profile': { kinds: { run_completed: 'include' } } } },
      'profiles.my profile is no name of a profile',
    ],
    ['a profile without a model', { models: { fast: { provider, model: '' } } }, 'models.fast.model is missing'],
    [
      'a profile whose provider is none',
      { models: { fast: { provider: {} as ModelProvider, model: 'x' } } },
      'models.fast.provider is no model provider',
    ],
    [
      'a model timeout that is no duration',
      { runtime: { model_timeout: '10' } },
      'runtime.model_timeout "10" is no duration',
    ],
    [
      'a heartbeat timeout that is no duration',
      { runtime: { heartbeat_timeout: -1 } },
      'runtime.heartbeat_timeout "-1" is no duration',
    ],
    [
      'a grace that is no duration',
      { runtime: { cancel_grace: 'none' } },
      'runtime.cancel_grace "none" is no duration',
    ],
    [
      'no attempts at a model call',
      { runtime: { model_max_attempts: 0 } },
      'runtime.model_max_attempts 0 is no number of attempts',
    ],
    [
      'a patience that is no duration',
      { runtime: { model_retry_for: 'long' } },
      'runtime.model_retry_for "long" is no duration',
    ],
    [
      'a broken number of events',
      { runtime: { continue_as_new_after_events: 1.5 } },
      'runtime.continue_as_new_after_events 1.5 is no number of events',
    ],
    [
      'no message that may wait',
      { threads: { queued_messages: 0 } },
      'threads.queued_messages 0 is no number of messages',
    ],
    [
      'a cache of less than nothing',
      { runtime: { context_cache_runs: -1 } },
      'runtime.context_cache_runs -1 is no number of runs',
    ],
    [
      'a cache of one workflow, which the SDK does not have',
      { runtime: { cached_workflows: 1 } },
      'runtime.cached_workflows 1 is no number of workflows from 2 on',
    ],
    [
      'an agent that defineAgent did not make',
      { agents: [{ agent_id: 'demo.a' } as never] },
      'agents[0] is no agent: make it with defineAgent()',
    ],
  ])('%s', (_what, options, message) => {
    expect(mistakesOf(config(options))).toEqual([expect.stringContaining(`app/perdure.config.ts: ${message}`)]);
  });

  it.each<[string, Partial<ToolOptions<z.ZodType>>, string]>([
    [
      'a tool id that is not canonical',
      { tool_id: 'read_page' },
      'tool_id "read_page" is not canonical: write service.toolset.tool in [a-z0-9_]',
    ],
    ['no tool id at all', { tool_id: undefined as never }, 'tool_id "undefined" is not canonical'],
    [
      'a tool of the service that is reserved',
      { tool_id: 'runtime.outputs.mine' },
      'tool_id "runtime.outputs.mine": the service "runtime" is Perdure\'s own',
    ],
    [
      'a tool of the service that callers have',
      { tool_id: 'client.declared.client_pick' },
      'tool_id "client.declared.client_pick": the service "client" is Perdure\'s own',
    ],
    [
      'a tool with the name of one that a caller runs',
      { tool_id: 'shop.seats.client_pick' },
      'tool_id "shop.seats.client_pick": names that begin with client_ are those of tools that callers run',
    ],
    [
      'a tool without description',
      { description: '' },
      'description of web.pages.read is missing: the model chooses by it',
    ],
    [
      'a timeout that is no duration',
      { timeout: '1 minute' },
      'timeout "1 minute" is no duration: write milliseconds, or like "30s", "5m"',
    ],
    [
      'no attempts at an idempotent tool',
      { idempotent: true, max_attempts: 0 },
      'max_attempts 0 is no number of attempts',
    ],
    [
      'an input that is no object',
      { input: z.string() },
      'input must be a zod object: models call tools with named arguments',
    ],
    [
      'an input that is a choice of objects',
      { input: z.union([z.object({}), z.object({ a: z.string() })]) },
      'input must be a zod object',
    ],
    [
      'an input that JSON Schema cannot say',
      { input: z.object({ n: z.bigint() }) },
      'input cannot be written as JSON Schema: ',
    ],
    ['no input at all', { input: undefined as never }, 'input cannot be written as JSON Schema: '],
  ])('%s', (_what, options, message) => {
    const agents = [agent(), agent({ agent_id: 'demo.other', tools: [tool({ tool_id: 'a.b.c' }), tool(options)] })];
    expect(mistakesOf(config({ agents }))).toEqual([
      expect.stringContaining(`app/perdure.config.ts: agents[1].tools[1].${message}`),
    ]);
  });

  it('a tool that defineTool did not make', () => {
    const tools = [{ tool_id: 'a.b.c' } as never];
    expect(mistakesOf(config({ agents: [agent({ tools })] }))).toEqual([
      'app/perdure.config.ts: agents[0].tools[0] is no tool: make it with defineTool()',
    ]);
  });

  it('two tools of one id, also in different agents', () => {
    const agents = [agent({ tools: [tool()] }), agent({ agent_id: 'demo.other', tools: [tool()] })];
    expect(mistakesOf(config({ agents }))).toEqual([
      'app/perdure.config.ts: agents[1].tools[0].tool_id "web.pages.read" is there twice, with different tools',
    ]);
  });

  it('one tool twice in an agent', () => {
    const twice = tool();
    expect(mistakesOf(config({ agents: [agent({ tools: [twice, twice] })] }))).toEqual([
      'app/perdure.config.ts: agents[0].tools[1].tool_id "web.pages.read" is there twice in demo.assistant',
    ]);
  });
});

describe('a configuration with many mistakes', () => {
  const broken = config({
    agents: [
      agent({ agent_id: 'Demo', tools: [tool({ description: '', timeout: 'never' })] }),
      agent({ agent_id: 'demo.two', model: 'slow' }),
      agent({ agent_id: 'demo.two' }),
    ],
    runtime: { cancel_grace: 'soon' },
  });

  it('is reported with all of them at once, in the order of the file', () => {
    const fields = mistakesOf(broken).map((line) => /^app\/perdure\.config\.ts: (\S+)/.exec(line)?.[1]);
    expect(fields).toEqual([
      'agents[0].agent_id',
      'agents[0].tools[0].description',
      'agents[0].tools[0].timeout',
      'agents[1].model',
      'agents[2].agent_id',
      'runtime.cancel_grace',
    ]);
  });

  it('is refused with their number and what to do', () => {
    expect(() => createRegistry(broken)).toThrow(
      expect.objectContaining({
        code: 'invalid_config',
        message: expect.stringMatching(
          /^6 mistake\(s\) in the configuration:\n[^]*\. Correct the named fields in the configuration\.$/,
        ),
      }),
    );
  });
});

function tool(options: Partial<ToolOptions<z.ZodType>> = {}): Tool {
  return defineTool({
    tool_id: 'web.pages.read',
    description: 'Reads.',
    input: z.object({}),
    run: () => 'read',
    ...options,
  });
}

function agent(options: Partial<AgentOptions> = {}) {
  return defineAgent({ agent_id: 'demo.assistant', instructions: 'Help.', ...options });
}

function config(options: Partial<ConfigOptions> = {}) {
  return defineConfig({ agents: [agent()], models, ...options });
}

/** One line for each mistake. */
function mistakesOf(broken: ReturnType<typeof config>): string[] {
  try {
    createRegistry(broken, 'app/perdure.config.ts');
  } catch (error) {
    if (!isPerdureError(error)) throw error;
    return error.message
      .replace(/\. Correct the named fields in the configuration\.$/, '')
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
  return [];
}
