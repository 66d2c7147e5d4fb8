/** The arguments of a call, as the model wrote them, against the tool's schema. */
import { duplicateKey } from '../contract/duplicate-key.js';
import type { RegisteredTool } from '../kit/registry.js';
import { ToolError } from '../kit/tool-error.js';
import { withoutAbsentNulls } from './absent-nulls.js';

export async function parseArguments(known: RegisteredTool, text: string): Promise<unknown> {
  let json: unknown;
  try {
    json = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolError('invalid_call', `The arguments are not valid JSON: ${why}`);
  }
  const twice = duplicateKey(text);
  // What a person approved must be what runs.
  if (twice !== undefined)
    throw new ToolError(
      'invalid_call',
      `The arguments have ${JSON.stringify(twice)} twice in one object: give it once.`,
    );
  const { strict, parameters } = known.spec;
  const given = strict ? withoutAbsentNulls(json, parameters) : json;
  const parsed = await known.tool.options.input.safeParseAsync(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  throw new ToolError('invalid_call', `The arguments do not fit the schema of ${known.spec.tool_id}.`, { issues });
}
