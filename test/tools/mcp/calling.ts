/** An open toolset of its own, and calls of it without a run around them. */
import { join } from 'node:path';
import { toolFailure } from '../../../contract/tool-failure.js';
import type { ToolFailureKind } from '../../../contract/tools.js';
import { parseArguments } from '../../../activities/parse-arguments.js';
import type { FoundTool, OpenToolset, RunContext, ToolContext, ToolReturn } from '../../../kit/index.js';
import { isToolError } from '../../../kit/tool-error.js';
import { isValued } from '../../../kit/with-value.js';
import { createFileArtefacts } from '../../../store/file-artefacts.js';
import { mcpServer } from '../../../tools/index.js';
import type { McpServerOptions } from '../../../tools/index.js';
import type { TestServer } from './start-server.js';

/** A run that works for nobody in particular. */
export const anyRun: RunContext = {
  run: { run_id: 'run-1', agent_id: 'test.agent', root_run_id: 'run-1' },
  principal: { roles: [] },
  metadata: {},
};

export interface Caller {
  readonly toolset: OpenToolset;
  /** What the worker's log got. */
  readonly reported: string[];
  readonly found: FoundTool[];
  tool(name: string): FoundTool;
  call(name: string, args?: unknown, given?: Partial<ToolContext>): Promise<ToolReturn>;
}

/** A toolset that has discovered its tools. */
export async function openCaller(server: TestServer, options: McpServerOptions = {}): Promise<Caller> {
  const reported: string[] = [];
  const toolset = mcpServer(server.server, options).options.open((line) => void reported.push(line));
  const found = await toolset.discover(AbortSignal.timeout(60_000), anyRun);
  const tool = (name: string): FoundTool => {
    const known = found.find(({ source_name }) => source_name === name);
    if (known === undefined) throw new Error(`${name} was not found`);
    return known;
  };
  return {
    toolset,
    reported,
    found,
    tool,
    async call(name, args = {}, given = {}) {
      const pinned = tool(name);
      const options = { tool_id: pinned.tool_id, description: '', ...toolset.bind(pinned) };
      const spec = { ...pinned, strict: false, max_attempts: 1 };
      const parsed = await parseArguments({ tool: { kind: 'tool', options }, spec }, JSON.stringify(args));
      const result = await options.run(parsed, contextOf(server, given));
      // What the model reads; the value beside it is in the log of a run.
      return isValued(result) ? result.content : result;
    },
  };
}

function contextOf(server: TestServer, given: Partial<ToolContext>): ToolContext {
  const artefacts = createFileArtefacts(join(server.folder, 'artefacts')).of('run-1');
  return {
    ...anyRun,
    tool_call_id: 'call_1_1',
    idempotency_key: 'run-1/call_1_1',
    attempt: 1,
    signal: new AbortController().signal,
    progress() {},
    output() {},
    notice() {},
    async file({ content, mime_type }) {
      return { file_id: (await artefacts.put(content, mime_type)).id };
    },
    state: undefined as never,
    artefacts,
    ...given,
  };
}

/** What a call failed with, as the runtime would have it. */
export async function failureOf(call: Promise<unknown>): Promise<{
  kind: ToolFailureKind;
  message: string;
  retryable: boolean;
}> {
  try {
    await call;
  } catch (error) {
    if (!isToolError(error)) throw error;
    const { kind, message } = toolFailure(error.kind, error.message);
    return { kind, message, retryable: error.retryable };
  }
  throw new Error('the call succeeded');
}
