/** A request with what a test does not care about filled in, and ways to read a stream. */
import { createAssembler } from '../../providers/assemble-completion.js';
import type { ChatInvokeCompletion, ToolDefinition } from '../../contract/completion.js';
import { isPerdureError, type PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';

export function modelRequest(change: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ],
    tools: [],
    tool_choice: 'auto',
    parameters: {},
    attempt: 1,
    run_id: 'run_1',
    step_id: 'step_1',
    ...change,
  };
}

export function tool(name: string, change: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, description: `What ${name} does`, parameters: { type: 'object', properties: {} }, ...change };
}

export const NEVER = new AbortController().signal;

export async function partsFrom(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal = NEVER,
): Promise<ModelStreamPart[]> {
  const parts: ModelStreamPart[] = [];
  for await (const part of provider.stream(request, signal)) parts.push(part);
  return parts;
}

export function assemble(parts: Iterable<ModelStreamPart>): ChatInvokeCompletion {
  const assembler = createAssembler();
  for (const part of parts) assembler.add(part);
  return assembler.completion();
}

/** The error that a stream ends in, and what came before it. */
export async function failureOf(
  provider: ModelProvider,
  request: ModelRequest = modelRequest(),
): Promise<{ error: PerdureError; parts: ModelStreamPart[] }> {
  const parts: ModelStreamPart[] = [];
  try {
    for await (const part of provider.stream(request, NEVER)) parts.push(part);
  } catch (error) {
    if (isPerdureError(error)) return { error, parts };
    throw error;
  }
  throw new Error(`expected a failure, got ${JSON.stringify(parts)}`);
}
