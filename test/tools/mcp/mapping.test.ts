/** From a server's words to ours, without a server: names, schemas, contents. */
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { TOOL_ID_PATTERN } from '../../../contract/ids.js';
import { argumentsOf } from '../../../tools/mcp/check-arguments.js';
import { toContent } from '../../../tools/mcp/map-content.js';
import { modelSchema } from '../../../tools/mcp/model-schema.js';
import { toolSegment } from '../../../tools/mcp/tool-segment.js';

describe('a tool’s name', () => {
  it.each([
    ['read_file', 'read_file'],
    ['createIssue', 'create_issue'],
    ['create-issue', 'create_issue'],
    ['HTTPRequest', 'http_request'],
    ['getURL2', 'get_url2'],
    ['files/read.text', 'files_read_text'],
    ['2fa', 't_2fa'],
    ['_hidden', 't__hidden'],
    ['größe', 'gr_uf6_udfe'],
    ['', 't_'],
  ])('"%s" is the segment %s', (name, segment) => {
    expect(toolSegment(name)).toBe(segment);
  });

  it('always becomes a canonical id, and a canonical one stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const segment = toolSegment(name);
        expect(`mcp.server.${segment}`).toMatch(TOOL_ID_PATTERN);
        expect(toolSegment(segment)).toBe(segment);
      }),
    );
  });
});

describe('a tool’s schema', () => {
  it('is passed on as it is where its root is an object', () => {
    const declared = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { at: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/Point' }] } },
      required: ['at'],
      additionalProperties: false,
      $defs: { Point: { type: 'object', properties: { x: { type: 'number' } } } },
    };
    expect(modelSchema(declared)).toEqual(declared);
  });

  it.each([
    [undefined, { type: 'object' }],
    [true, { type: 'object' }],
    [{}, { type: 'object' }],
    [{ type: 'string' }, { type: 'object' }],
    [{ type: ['object', 'null'] }, { type: 'object' }],
    [{ properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
  ])('%j becomes an object', (declared, schema) => {
    expect(modelSchema(declared)).toEqual(schema);
  });

  it('takes in what its root refers to, and keeps what that refers to', () => {
    const $defs = { Args: { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, required: ['a'] }, A: {} };
    expect(modelSchema({ $ref: '#/$defs/Args', $defs })).toEqual({
      type: 'object',
      properties: { a: { $ref: '#/$defs/A' } },
      required: ['a'],
      $defs,
    });
  });

  it('has the properties of all choices, and requires what each of them does', () => {
    const byId = { type: 'object', properties: { id: { type: 'number' }, note: {} }, required: ['id', 'note'] };
    const byName = { type: 'object', properties: { id: { type: 'string' }, note: {} }, required: ['note'] };
    expect(modelSchema({ oneOf: [byId, byName, { type: 'null' }], not: {}, description: 'either' })).toEqual({
      type: 'object',
      description: 'either',
      properties: { id: { anyOf: [{ type: 'number' }, { type: 'string' }] }, note: {} },
      required: ['note'],
    });
    expect(modelSchema({ allOf: [byId, { required: ['more'] }] })).toMatchObject({ required: ['id', 'note', 'more'] });
  });

  it('ends also where it refers to itself', () => {
    expect(modelSchema({ $ref: '#' })).toEqual({ type: 'object' });
    expect(modelSchema({ $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } })).toMatchObject({ type: 'object' });
  });
});

describe('arguments', () => {
  const check = (schema: Record<string, unknown>, args: unknown) =>
    argumentsOf(schema)
      .safeParse(args)
      .error?.issues.map((issue) => issue.message);

  it('are checked against the schema, all of them', () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] };
    expect(check(schema, { a: 1, b: 2 })).toBeUndefined();
    expect(check(schema, { a: 'x' })).toEqual([
      "arguments must have required property 'b', arguments/a must be number",
    ]);
    expect(check(schema, ['a'])).toHaveLength(1);
  });

  it('are left to the server where the schema cannot be read', () => {
    expect(
      check({ type: 'object', properties: { a: { $ref: 'https://example.org/schema' } } }, { a: 1 }),
    ).toBeUndefined();
  });
});

describe('a result', () => {
  const files = { file: async ({ filename }: { filename: string }) => ({ file_id: filename }) };
  const content = (...blocks: Record<string, unknown>[]) => toContent({ content: blocks as { type: string }[] }, files);

  it('of several texts is one text, of none an empty one', async () => {
    expect(await content({ type: 'text', text: 'a' }, { type: 'text', text: 'b' })).toBe('a\n\nb');
    expect(await content()).toBe('');
    expect(await toContent({}, files)).toBe('');
  });

  it('with pictures that models are not shown has them as files', async () => {
    const data = Buffer.from('<svg/>').toString('base64');
    expect(await content({ type: 'image', data, mimeType: 'image/svg+xml' })).toBe(
      '[image: image/svg+xml, 6 bytes, kept as file image.svg]',
    );
  });

  it('of a kind that is not known, or is broken, is read as it came', async () => {
    expect(await content({ type: 'hologram', angle: 7 })).toBe(
      '[content of the type "hologram": {"type":"hologram","angle":7}]',
    );
    expect(await content({ type: 'text' })).toBe('[content of the type "text": {"type":"text"}]');
    expect(await content({ type: 'resource', resource: { uri: 'a:b' } })).toBe('[resource a:b: {"uri":"a:b"}]');
  });

  it('that says its structured content as a text says it once', async () => {
    const structuredContent = { a: [1], b: 2 };
    const text = '{ "b": 2, "a": [1] }';
    expect(await toContent({ content: [{ type: 'text', text }], structuredContent }, files)).toBe(text);
    expect(await toContent({ content: [{ type: 'text', text: 'see' }], structuredContent }, files)).toBe(
      'see\n\n{"a":[1],"b":2}',
    );
  });
});
