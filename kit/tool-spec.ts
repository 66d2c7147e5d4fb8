/** A tool as a run is pinned to it, out of what an author wrote; mistakes are noted with their field. */
import { z } from 'zod';
import type { JSONSchema7 } from '../contract/completion.js';
import { parseDuration } from '../contract/durations.js';
import { STATE_CELL_PATTERN } from '../contract/ids.js';
import type { StateCell } from '../contract/tool-state.js';
import type { ToolSpec } from '../contract/tools.js';
import type { Tool } from './define-tool.js';

export type Note = (field: string, problem: string) => void;

/** Also for the runtime's own tools. */
export function toolSpec(tool: Tool, field: string, note: Note): ToolSpec {
  const { options } = tool;
  const { idempotent = false, max_attempts = 3 } = options;
  if (!isCount(max_attempts)) note(`${field}.max_attempts`, `${max_attempts} is no number of attempts`);
  return {
    tool_id: options.tool_id,
    description: options.description,
    ...(options.display_name === undefined ? {} : { display_name: options.display_name }),
    parameters: parametersOf(options.input, field, note),
    strict: options.strict ?? true,
    timeout_ms: duration(options.timeout, 60_000, `${field}.timeout`, note),
    idempotent,
    max_attempts: idempotent ? max_attempts : 1,
    ...(tool.child === undefined ? {} : { kind: 'agent' as const, agent_id: tool.child.agent.options.agent_id }),
    ...(tool.child?.finalizer === undefined ? {} : { finalizer: true }),
    ...(options.reads === undefined ? {} : { reads: readsOf(options.reads, field, note) }),
    ...(options.approval === undefined || options.approval === 'never'
      ? {}
      : { approval: options.approval === 'always' ? ('always' as const) : ('by_arguments' as const) }),
    ...(tool.child !== undefined || typeof options.approval === 'function' || options.concurrency_key !== undefined
      ? { admission: true }
      : {}),
  };
}

function readsOf(cells: readonly StateCell[], field: string, note: Note): StateCell[] {
  for (const { name } of cells) {
    if (!STATE_CELL_PATTERN.test(name))
      note(`${field}.reads`, `"${name}" is no name of a cell: write one like "web.scrolls"`);
  }
  return cells.map(({ scope, name }) => ({ scope, name }));
}

function parametersOf(input: z.ZodType, field: string, note: Note): JSONSchema7 {
  try {
    const schema = z.toJSONSchema(input, { target: 'draft-7', io: 'input', override: close }) as JSONSchema7;
    if (schema['type'] !== 'object')
      note(`${field}.input`, 'must be a zod object: models call tools with named arguments');
    return schema;
  } catch (error) {
    note(
      `${field}.input`,
      `cannot be written as JSON Schema: ${error instanceof Error ? error.message : String(error)}`,
    );
    return {};
  }
}

/** Of what its schema does not name a tool sees nothing: models need not think that they could give it. */
function close({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) {
  const { def } = zodSchema._zod;
  if (def.type === 'object' && def.catchall === undefined) jsonSchema.additionalProperties = false;
}

export function duration(value: number | string | undefined, fallback: number, field: string, note: Note): number {
  const milliseconds = value === undefined ? fallback : parseDuration(value);
  if (milliseconds === undefined) note(field, `"${value}" is no duration: write milliseconds, or like "30s", "5m"`);
  return milliseconds ?? fallback;
}

export function isCount(value: number, least = 1): boolean {
  return Number.isInteger(value) && value >= least;
}
