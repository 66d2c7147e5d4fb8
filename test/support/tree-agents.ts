/** Agents that use one another as tools. `test.node` can use itself, so that a script can make any tree. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { agentAsTool, defineAgent, defineTool, ToolError } from '../../kit/index.js';
import type { AgentOptions, ConfigOptions, ModelProfile, RuntimeOptions, Tool } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import type { Script } from '../../providers/index.js';
import { script, testConfig } from './test-agents.js';

const argument = z.object({ script: z.string() });

/** Calls with the same key do not overlap: the output says when each ran. */
const locked = defineTool({
  tool_id: 'test.tools.locked',
  description: 'Takes a while, alone with its key.',
  input: z.object({ key: z.string(), ms: z.number() }),
  idempotent: true,
  concurrency_key: ({ key }) => key,
  async run({ ms }, { signal }) {
    const from = Date.now();
    await sleep(ms, undefined, { signal });
    return { from, to: Date.now() };
  },
});

const guarded = defineTool({
  tool_id: 'test.guarded.spend',
  description: 'Spends money; large sums need approval.',
  input: z.object({ sum: z.number() }),
  idempotent: true,
  approval: ({ sum }) => {
    if (sum < 0) throw new Error('negative sums are not thought of');
    return sum > 100;
  },
  run: ({ sum }) => `spent ${sum}`,
});

const sacred = defineTool({
  tool_id: 'test.guarded.always',
  description: 'Always needs approval.',
  input: z.object({ text: z.string() }),
  idempotent: true,
  approval: 'always',
  run: ({ text }) => `done: ${text}`,
});

const given = (testConfig().agents[0]?.options.tools ?? []).filter((tool) => tool.kind === 'tool');
const ownTools = [...given, locked, guarded, sacred];

function node(extra: Partial<AgentOptions> & { agent_id: string }): ReturnType<typeof defineAgent> {
  return defineAgent({
    instructions: 'Follow the script.',
    description: 'Follows a script.',
    tools: ownTools,
    ...extra,
  });
}

/** The tools by which the agent, or another one with the same service, uses others. */
export function treeConfig(
  runtime: RuntimeOptions = {},
  extra: {
    agents?: (tools: Tool[]) => AgentOptions[];
    tools?: Tool[];
    model?: Partial<ModelProfile>;
    root?: Partial<AgentOptions>;
  } = {},
): ConfigOptions {
  const tools: Tool[] = [...ownTools, ...(extra.tools ?? [])];
  const self = node({ agent_id: 'test.node', tools, clarifications: true, ...extra.root });
  const narrow = node({ agent_id: 'test.narrow', policy: { allow: ['test.tools.*'], deny: ['test.tools.act'] } });
  const asker = node({ agent_id: 'test.asker', clarifications: true, await_expires_in: '1s' });
  const use = (agent: ReturnType<typeof defineAgent>, tool_id: string) =>
    agentAsTool(agent, { tool_id, input: argument, prompt: '{{script}}' });
  tools.push(
    use(self, 'test.agents.node'),
    use(narrow, 'test.agents.narrow'),
    use(asker, 'test.agents.asker'),
    agentAsTool(self, {
      tool_id: 'test.agents.templated',
      input: z.object({ greeting: z.string(), count: z.number(), nothing: z.string().optional() }),
      prompt: '{"turns":[{"text":"{{greeting}} {{ count }}{{nothing}}{{unknown}}"}]}',
    }),
    agentAsTool(self, {
      tool_id: 'test.agents.prompted',
      input: z.object({ words: z.array(z.string()) }),
      async prompt({ words }) {
        if (words.length === 0) return '';
        if (words[0] === 'throw') throw new Error('no words');
        return Promise.resolve(script([{ text: words.join('-') }]));
      },
    }),
    agentAsTool(self, {
      tool_id: 'test.agents.finalized',
      input: argument,
      prompt: '{{script}}',
      finalizer({ input, parent, child }) {
        if (child.answer === 'throw') throw new Error('cannot add up');
        if (child.answer === 'refuse') throw new ToolError('rate_limited', 'later');
        if (child.answer === 'big') return 'x'.repeat(200_000);
        const { run, usage } = child;
        return {
          answer: child.answer.toUpperCase(),
          run,
          parent: parent.run_id,
          calls: usage.tool_calls,
          size: input.script.length,
        };
      },
    }),
    agentAsTool(self, {
      tool_id: 'test.agents.approved',
      input: argument,
      prompt: '{{script}}',
      approval: 'always',
    }),
  );
  const others = extra.agents?.(tools) ?? [];
  return {
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1', ...extra.model } },
    agents: [self, ...others.map((options) => defineAgent(options))],
    runtime: { heartbeat_timeout: '3s', cancel_grace: 500, ...runtime },
  };
}

/** A call of the node by itself, or of another agent. */
export function child(turns: Script['turns'], agent = 'node', synthesis?: Script['synthesis']) {
  return { tool: `test.agents.${agent}`, args: { script: script(turns, synthesis) } };
}

export function ask(question: string, choices?: string[]) {
  return { tool: 'runtime.user.ask_clarification', args: { question, ...(choices === undefined ? {} : { choices }) } };
}
