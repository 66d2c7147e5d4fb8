/** The arguments of a call, as the model wrote them, against the tool's schema. */
import type { ToolFailure } from '../contract/tools.js';
import type { RegisteredTool } from '../kit/registry.js';
import { ToolError } from '../kit/tool-error.js';

export class InvalidCall extends ToolError {
  readonly issues: ToolFailure['issues'];
  constructor(message: string, issues: ToolFailure['issues']) {
    super('invalid_call', message);
    this.issues = issues;
  }
}

export async function parseArguments(known: RegisteredTool, text: string): Promise<unknown> {
  let json: unknown;
  try {
    json = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    throw new InvalidCall(
      `The arguments are not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
      [],
    );
  }
  const parsed = await known.tool.options.input.safeParseAsync(json);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  throw new InvalidCall(`The arguments do not fit the schema of ${known.spec.tool_id}.`, issues);
}
