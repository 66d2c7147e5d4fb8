import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { STRICT } from '../../providers/openai/convert-tools.js';
import { fitsStrictMode } from '../../providers/strict-schema.js';

const schemaOf = (type: z.ZodType) => z.toJSONSchema(type, { target: 'draft-7' });

describe('strict mode takes', () => {
  it('a closed object of required properties, as zod writes it', () => {
    const type = z.object({
      city: z.string().describe('Where'),
      days: z.number().int().min(1).max(9),
      unit: z.enum(['c', 'f']).nullable(),
      places: z.array(z.object({ name: z.string() })).max(3),
      day: z.iso.date(),
    });
    expect(fitsStrictMode(schemaOf(type), STRICT)).toBe(true);
  });

  it('an object without properties', () => {
    expect(fitsStrictMode(schemaOf(z.object({})), STRICT)).toBe(true);
  });
});

describe('strict mode would refuse', () => {
  it.each<[string, Record<string, unknown>]>([
    ['an optional property', schemaOf(z.object({ a: z.string().optional() }))],
    ['an optional property deep inside', schemaOf(z.object({ a: z.array(z.object({ b: z.string().optional() })) }))],
    ['an open object', { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }],
    [
      'an open object in a definition',
      { type: 'object', properties: {}, additionalProperties: false, $defs: { a: { type: 'object' } } },
    ],
    ['a record', schemaOf(z.object({ a: z.record(z.string(), z.number()) }))],
    ['a default', schemaOf(z.object({ a: z.string().default('x') }))],
    ['a keyword it does not know', schemaOf(z.object({ a: z.string().min(3) }))],
    ['a format it does not know', schemaOf(z.object({ a: z.url() }))],
    ['a union at the root', { anyOf: [{ type: 'object', properties: {}, additionalProperties: false }] }],
    [
      'a tuple',
      {
        type: 'object',
        properties: { a: { type: 'array', items: [{}] } },
        required: ['a'],
        additionalProperties: false,
      },
    ],
    ['something that is no object', { type: 'string' }],
    ['no schema at all', {}],
  ])('%s', (_, schema) => {
    expect(fitsStrictMode(schema, STRICT)).toBe(false);
  });
});
