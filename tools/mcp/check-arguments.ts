/**
 * Arguments against the schema that the run is pinned to, before the server is bothered. With the validator that the
 * SDK brings along: no further dependency. A schema that it cannot read is left to the server, which checks as well.
 */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { JsonSchemaType, JsonSchemaValidator } from '@modelcontextprotocol/sdk/validation';
import { z } from 'zod';
import type { JSONSchema7 } from '../../contract/completion.js';

export function argumentsOf(schema: JSONSchema7): z.ZodType {
  const validate = compile(schema);
  return z.record(z.string(), z.unknown()).superRefine((args, context) => {
    const checked = validate?.(args);
    if (checked === undefined || checked.valid) return;
    // The validator calls the whole of it "data".
    const message = checked.errorMessage.replaceAll(/\bdata(?=[/ ])/g, 'arguments');
    context.addIssue({ code: 'custom', message });
  });
}

/** An instance for each: it remembers schemas by their `$id`, which tools of different servers may share. */
function compile(schema: JSONSchema7): JsonSchemaValidator<unknown> | undefined {
  try {
    return new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType);
  } catch {
    return undefined;
  }
}
