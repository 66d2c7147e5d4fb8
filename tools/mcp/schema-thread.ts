/** A thread that evaluates servers' schemas: a pattern or a reference in one may take for ever, and can be stopped here. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { JsonSchemaType, JsonSchemaValidator } from '@modelcontextprotocol/sdk/validation';
import { schemaProblem } from '../../contract/schema-bounds.js';
import { serveRequests } from '../threads/serve-requests.js';
import { modelSchema } from './model-schema.js';

/** Schemas and values are JSON. */
export type SchemaRequest = { declared: string } | { schema: string; value: string };
/** The schema as models are shown it, or what is wrong with it or with the value. */
export type SchemaReply = { schema?: string; problem?: string };

/** Compiled ones are several times as large. */
const MOST_KEPT_CHARS = 1024 * 1024;
const MOST_PROBLEM_CHARS = 1_000;

const kept = new Map<string, JsonSchemaValidator<unknown> | undefined>();
let keptChars = 0;

serveRequests((request): SchemaReply => {
  const asked = request as SchemaRequest;
  return 'declared' in asked ? prepare(asked.declared) : check(asked.schema, JSON.parse(asked.value));
});

function prepare(declared: string): SchemaReply {
  let schema;
  try {
    schema = modelSchema(JSON.parse(declared));
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  const problem = schemaProblem(schema);
  if (problem !== undefined) return { problem: `${problem} once its references are resolved` };
  const text = JSON.stringify(schema);
  // One that takes for ever on nothing at all is found out here, and not by the first call.
  check(text, {});
  return { schema: text };
}

function check(schema: string, value: unknown): SchemaReply {
  const checked = validate(schema, value);
  return checked === undefined || checked.valid ? {} : { problem: checked.errorMessage.slice(0, MOST_PROBLEM_CHARS) };
}

function validate(schema: string, value: unknown) {
  try {
    return validatorOf(schema)?.(value);
  } catch (error) {
    // Nested so deep that the validator has no room to follow.
    if (error instanceof RangeError) return { valid: false as const, errorMessage: 'it is nested too deep' };
    throw error;
  }
}

/** A schema that cannot be read has none: the server checks as well. */
function validatorOf(schema: string): JsonSchemaValidator<unknown> | undefined {
  const known = kept.has(schema);
  const validator = known ? kept.get(schema) : compile(schema);
  kept.delete(schema);
  kept.set(schema, validator);
  if (!known) keptChars += schema.length;
  for (const oldest of kept.keys()) {
    if (keptChars <= MOST_KEPT_CHARS) break;
    kept.delete(oldest);
    keptChars -= oldest.length;
  }
  return validator;
}

/** An instance for each: it remembers schemas by their `$id`, which tools of different servers may share. */
function compile(schema: string): JsonSchemaValidator<unknown> | undefined {
  try {
    return new AjvJsonSchemaValidator().getValidator(JSON.parse(schema) as JsonSchemaType);
  } catch {
    return undefined;
  }
}
