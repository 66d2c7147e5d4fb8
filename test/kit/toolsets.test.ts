import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ModelProvider } from '../../contract/model-provider.js';
import { defineAgent, defineConfig, defineTool, defineToolset } from '../../kit/index.js';
import type { AgentOptions } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import { mcpServer } from '../../tools/index.js';

const provider: ModelProvider = { name: 'silent', async *stream() {} };
const toolset = (toolset_id: string) =>
  defineToolset({
    toolset_id,
    open() {
      throw new Error('nothing is opened to check a configuration');
    },
  });

function registryOf(...tools: NonNullable<AgentOptions['tools']>[]) {
  const agents = tools.map((list, n) =>
    defineAgent({ agent_id: `demo.agent_${n}`, instructions: 'Help.', tools: list }),
  );
  return createRegistry(defineConfig({ agents, models: { fast: { provider, model: 'small' } } }));
}

describe('a toolset in a configuration', () => {
  it('is registered by its id, for all agents that have it', () => {
    const shelf = toolset('far.shelf');
    const registry = registryOf([shelf], [shelf, toolset('far.other')]);
    expect([...registry.toolsets.keys()]).toEqual(['far.shelf', 'far.other']);
    expect(registry.agents.get('demo.agent_0')?.toolsets).toEqual([shelf]);
    expect(registry.agents.get('demo.agent_0')?.tools).toEqual([]);
  });

  it.each(['shelf', 'far.shelf.more', 'Far.shelf', 'far.my-shelf', ''])('is refused with the id "%s"', (id) => {
    expect(() => registryOf([toolset(id)])).toThrow(
      `agents[0].tools[0].toolset_id "${id}" is not canonical: write service.toolset in [a-z0-9_]`,
    );
  });

  it.each(['runtime.outputs', 'client.declared'])('is refused with the id "%s", which is not its to give', (id) => {
    expect(() => registryOf([toolset(id)])).toThrow(`"${id}": its service is Perdure's own`);
  });

  it('is refused twice in one agent, and with the id of another one', () => {
    const shelf = toolset('far.shelf');
    expect(() => registryOf([shelf, shelf])).toThrow('agents[0].tools[1] is there twice in demo.agent_0');
    expect(() => registryOf([shelf], [toolset('far.shelf')])).toThrow(
      'agents[1].tools[0].toolset_id "far.shelf" is there twice, with different toolsets',
    );
  });

  it('is refused beside a tool that has an id of its own', () => {
    const tool = defineTool({ tool_id: 'far.shelf.take', description: 'Takes.', input: z.object({}), run: () => '' });
    expect(() => registryOf([tool, toolset('far.shelf')])).toThrow('tool "far.shelf.take" has an id of a toolset');
  });
});

describe('an MCP server in a configuration', () => {
  const stdio = { command: 'server' };

  it('is a toolset of its name', () => {
    expect([...registryOf([mcpServer({ name: 'files', stdio })]).toolsets.keys()]).toEqual(['mcp.files']);
    expect(() => registryOf([mcpServer({ name: 'my-files', stdio })])).toThrow('"mcp.my-files" is not canonical');
  });

  it('is refused with a time that is none', () => {
    expect(() => mcpServer({ name: 'files', stdio }, { timeout: 'soon' })).toThrow(
      /^MCP server "files" \(server\): timeout "soon" is no duration/,
    );
    expect(() => mcpServer({ name: 'files', stdio }, { connect_timeout: 'soon' })).toThrow(/connect_timeout "soon"/);
  });
});
