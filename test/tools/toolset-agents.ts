/** Agents with the toolsets that ship, for worlds in this process and for workers in processes of their own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { agentAsTool, defineAgent } from '../../kit/index.js';
import type { ConfigOptions, RuntimeOptions, Tool } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { localDocuments, scratchpadTools, webTools } from '../../tools/index.js';
import type { FetchOptions } from '../../tools/index.js';
import { script } from '../support/test-agents.js';

export interface ToolsetOptions {
  /** Of the local documents. */
  folder: string;
  fetch: FetchOptions;
}

export const DOCUMENTS_URL = 'https://handbook.test/';

export function toolsetConfig({ folder, fetch }: ToolsetOptions, runtime: RuntimeOptions = {}): ConfigOptions {
  const search = localDocuments({ folder, base_url: DOCUMENTS_URL });
  const tools = [...webTools({ search, fetch }), ...scratchpadTools().map(held)];
  const leaf = defineAgent({ agent_id: 'test.leaf', description: 'Below.', instructions: 'Follow the script.', tools });
  const asTool = agentAsTool(leaf, {
    tool_id: 'test.agents.leaf',
    input: z.object({ script: z.string() }),
    prompt: ({ script: text }) => text,
  });
  return {
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
    agents: [
      leaf,
      defineAgent({ agent_id: 'test.desk', instructions: 'Follow the script.', tools: [...tools, asTool] }),
    ],
    runtime: { heartbeat_timeout: '3s', cancel_grace: 500, ...runtime },
  };
}

/** What makes the first attempt at a scratchpad's call stay when it has done its work: the test kills it there. */
export const HELD = '(held)';

function held(tool: Tool): Tool {
  const { options } = tool;
  return {
    ...tool,
    options: {
      ...options,
      async run(input, context) {
        const result = await options.run(input, context);
        if (context.attempt === 1 && JSON.stringify(input).includes(HELD)) {
          context.progress(HELD);
          await sleep(60_000, undefined, { signal: context.signal });
        }
        return result;
      },
    },
  };
}

type Turns = Parameters<typeof script>[0];

export const search = (query: string) => ({ tool: 'web.search.perform_web_search', args: { query } });
export const readPage = (url: string) => ({ tool: 'web.pages.read_web_page', args: { url } });
export const scroll = (url: string, page: number) => ({ tool: 'web.pages.scroll_web_page', args: { url, page } });
export const searchPage = (url: string, query: string) => ({
  tool: 'web.pages.search_web_page',
  args: { url, query },
});
export const pad = (name: 'read' | 'write' | 'append' | 'update', args: object = {}) => ({
  tool: `memory.scratchpad.${name}_scratchpad`,
  args,
});
export const child = (turns: Turns) => ({ tool: 'test.agents.leaf', args: { script: script(turns) } });

/** Each call in a step of its own, then an answer. */
export const inTurn = (...calls: { tool: string; args: unknown }[]): Turns => [
  ...calls.map((call) => ({ tool_calls: [call] })),
  { text: 'Done.' },
];
