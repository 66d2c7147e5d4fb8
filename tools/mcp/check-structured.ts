/** The structured content of a result against the schema that the server declares for it. */
import type { ToolContext } from '../../kit/define-tool.js';
import type { PinnedTool } from '../../kit/define-toolset.js';
import { ToolError } from '../../kit/tool-error.js';
import { tenantOf } from '../tenant-of.js';
import type { CallResult } from './map-content.js';
import type { OutputSchemas } from './output-schemas.js';
import type { Schemas } from './schemas-apart.js';

export async function checkStructured(
  { schemas, outputs }: { schemas: Schemas; outputs: OutputSchemas },
  { tool_id, source_name }: PinnedTool,
  { structuredContent: structured }: CallResult,
  context: ToolContext,
): Promise<void> {
  if (structured === undefined || structured === null) return;
  const schema = await outputs.of(source_name, context.signal);
  if (schema === undefined || schema === null) return;
  const refuse = (why: string) => {
    throw new ToolError('malformed_result', `${tool_id} was called, and its structured content was refused: ${why}.`);
  };
  const ticket = { group: tenantOf(context), signal: context.signal };
  const problem = await schemas.check(schema, JSON.stringify(structured), ticket).catch((error: unknown) => {
    context.signal.throwIfAborted();
    return refuse(error instanceof Error ? error.message : String(error));
  });
  if (problem !== undefined) refuse(problem.replaceAll(/\bdata(?=[/ ])/g, 'it'));
}
