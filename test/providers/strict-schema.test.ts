import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { STRICT } from '../../providers/openai/convert-tools.js';
import { strictForm } from '../../providers/strict-schema.js';

const fits = (schema: Record<string, unknown>) => strictForm(schema, STRICT) !== undefined;
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
    expect(strictForm(schemaOf(type), STRICT)?.schema).toEqual(schemaOf(type));
  });

  it('a property that may be left out as one that is null, wherever it is, and references', () => {
    const Node = z.object({
      name: z.string(),
      get next() {
        return Node.optional();
      },
    });
    const form = strictForm(schemaOf(z.object({ list: z.array(Node) })), STRICT)?.schema;
    expect(JSON.stringify(form)).toMatch(/"next":\{"anyOf":\[\{"\$ref":"[^"]+"\},\{"type":"null"\}\]\}/);
    expect(JSON.stringify(form)).toContain('"required":["name","next"]');
  });

  it('what it does not know of a value in words', () => {
    const schema = schemaOf(z.object({ a: z.string().min(3).describe('A'), b: z.url(), c: z.string().default('x') }));
    expect(strictForm(schema, STRICT)?.schema['properties']).toEqual({
      a: { type: 'string', description: 'A (minLength: 3)' },
      b: { type: 'string', description: '(format: uri)' },
      c: { type: 'string', description: '(default: x)' },
    });
  });

  it('an object without properties', () => {
    expect(fits(schemaOf(z.object({})))).toBe(true);
  });
});

describe('strict mode would refuse', () => {
  it.each<[string, Record<string, unknown>]>([
    ['an open object', { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }],
    [
      'an open object in a definition',
      { type: 'object', properties: {}, additionalProperties: false, $defs: { a: { type: 'object' } } },
    ],
    ['a record', schemaOf(z.object({ a: z.record(z.string(), z.number()) }))],
    [
      'a keyword it does not know',
      { type: 'object', properties: { a: { type: 'string', not: {} } }, required: ['a'], additionalProperties: false },
    ],
    ['anything at all', schemaOf(z.object({ a: z.any() }))],
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
    expect(fits(schema)).toBe(false);
  });
});
