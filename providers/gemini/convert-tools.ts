import type { FunctionCallingConfig, FunctionCallingConfigMode, FunctionDeclaration, ToolConfig } from '@google/genai';
import type { ToolDefinition } from '../../contract/completion.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import { inputSchema, readToolChoice } from '../tool-choice.js';
import type { ToolNames } from '../tool-names.js';

export function convertTools(tools: readonly ToolDefinition[], names: ToolNames): FunctionDeclaration[] {
  return tools.map((tool) => {
    const { $schema: _, ...schema } = inputSchema(tool);
    return { name: names.toVendor(tool.name), description: tool.description, parametersJsonSchema: schema };
  });
}

/** Gemini knows no strict tools, only a strict mode for all of a request: taken where one of them is. */
export function convertToolConfig(request: ModelRequest, names: ToolNames): ToolConfig | undefined {
  const choice = readToolChoice(request, 'gemini');
  if (choice === undefined) return undefined;
  if (typeof choice === 'object') return config('ANY', { allowedFunctionNames: [names.toVendor(choice.tool)] });
  if (choice === 'required') return config('ANY');
  if (choice === 'none') return config('NONE');
  return config(request.tools.some((tool) => tool.strict === true) ? 'VALIDATED' : 'AUTO');
}

function config(mode: `${FunctionCallingConfigMode}`, more: FunctionCallingConfig = {}): ToolConfig {
  return { functionCallingConfig: { mode: mode as FunctionCallingConfigMode, ...more } };
}
