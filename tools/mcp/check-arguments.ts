/** Arguments against the schema that the run is pinned to, before the server is bothered. */
import type { PinnedTool } from '../../kit/define-toolset.js';
import type { ToolContext } from '../../kit/define-tool.js';
import { ToolError } from '../../kit/tool-error.js';
import { tenantOf } from '../tenant-of.js';
import { UnfitSchema } from './schemas-apart.js';
import type { Schemas } from './schemas-apart.js';

export async function checkArguments(
  schemas: Schemas,
  { tool_id, parameters }: PinnedTool,
  args: unknown,
  context: ToolContext,
): Promise<void> {
  const ticket = { group: tenantOf(context), signal: context.signal };
  const problem = await schemas.check(parameters, asJson(args, tool_id), ticket).catch((error: unknown) => {
    if (!(error instanceof UnfitSchema)) throw error;
    // Neither of the call, which may be right, nor of the tool, which was not called: other arguments may do.
    const message = `The arguments of ${tool_id} could not be checked, and it was not called: ${error.message}. Call it with simpler arguments, or not at all.`;
    throw new ToolError('internal', message);
  });
  if (problem === undefined) return;
  // The validator calls the whole of it "data".
  const issues = [{ path: '', message: problem.replaceAll(/\bdata(?=[/ ])/g, 'arguments') }];
  throw new ToolError('invalid_call', `The arguments do not fit the schema of ${tool_id}.`, { issues });
}

function asJson(args: unknown, toolId: string): string {
  try {
    return JSON.stringify(args);
  } catch (error) {
    throw new ToolError('invalid_call', `The arguments of ${toolId} are nested too deep.`, { cause: error });
  }
}
