/** The tool as an activity calls it, without one. */
import { isToolError } from '../../../kit/tool-error.js';
import type { Tool, ToolContext } from '../../../kit/index.js';
import type { CodeInterpreterOptions } from '../../../tools/index.js';
import { codeInterpreter } from '../../../tools/index.js';

export interface Outcome {
  /** What the model reads; absent where the call failed. */
  text?: string;
  failure?: { kind: string; message: string; retryable: boolean };
  /** As it came, piece by piece. */
  live: string[];
  progress: string[];
  files: { filename: string; mime_type: string; content: string }[];
}

export function createTool(options: CodeInterpreterOptions): Tool {
  return codeInterpreter(options);
}

export async function runCode(
  tool: Tool,
  code: string,
  {
    signal = new AbortController().signal,
    onLive = () => {},
    org_id,
  }: { signal?: AbortSignal; onLive?: (text: string) => void; org_id?: string } = {},
): Promise<Outcome> {
  const outcome: Outcome = { live: [], progress: [], files: [] };
  const context: Partial<ToolContext> = {
    run: { run_id: 'run-1', agent_id: 'test.coder', root_run_id: 'run-1' },
    principal: { ...(org_id === undefined ? {} : { org_id }), roles: [] },
    signal,
    progress: (message) => void outcome.progress.push(message),
    output(text) {
      outcome.live.push(text);
      onLive(text);
    },
    async file({ filename, mime_type, content }) {
      outcome.files.push({ filename, mime_type, content: Buffer.from(content as Uint8Array).toString('latin1') });
      return { file_id: filename };
    },
  };
  try {
    outcome.text = (await tool.options.run({ code }, context as ToolContext)) as string;
  } catch (error) {
    if (!isToolError(error)) throw error;
    outcome.failure = { kind: error.kind, message: error.message, retryable: error.retryable };
  }
  return outcome;
}
