/** From a server's words to ours, without a server: names, schemas, contents. */
import { afterAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { TOOL_ID_PATTERN } from '../../../contract/ids.js';
import { toContent } from '../../../tools/mcp/map-content.js';
import { modelSchema } from '../../../tools/mcp/model-schema.js';
import { createSchemas } from '../../../tools/mcp/schemas-apart.js';
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
    // As the tools of callers are called: a policy, a page and a person would take it for one.
    ['client_create', 't_client_create'],
    ['client-list', 't_client_list'],
    ['client_', 't_client_'],
    ['clients', 'clients'],
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
  const schemas = createSchemas();
  afterAll(() => schemas.close());
  const check = (schema: Record<string, unknown>, args: unknown) =>
    schemas.check(schema, JSON.stringify(args), { group: 'a', signal: new AbortController().signal });

  it('are checked against the schema, all of them', async () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] };
    expect(await check(schema, { a: 1, b: 2 })).toBeUndefined();
    expect(await check(schema, { a: 'x' })).toBe("data must have required property 'b', data/a must be number");
  });

  it('are left to the server where the schema cannot be read', async () => {
    const schema = { type: 'object', properties: { a: { $ref: 'https://example.org/schema' } } };
    expect(await check(schema, { a: 1 })).toBeUndefined();
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

  const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64');
  const count = (parts: unknown, type: string) =>
    (Array.isArray(parts) ? (parts as { type: string }[]) : []).filter((part) => part.type === type).length;

  it('has only so many images and bytes in them, and says so', async () => {
    const image = { type: 'image', data: base64(10), mimeType: 'image/png' };
    const many = await content(...Array.from({ length: 30 }, () => image));
    expect(count(many, 'image_url')).toBe(20);
    expect(JSON.stringify(many).match(/an image, left out/g)).toHaveLength(10);
    const large = { ...image, data: base64(3 * 1024 * 1024) };
    expect(count(await content(large, large, large), 'image_url')).toBe(2);
  });

  it('has only so many files and bytes in them, and says so', async () => {
    const kept: { filename: string; mime_type: string }[] = [];
    const keeping = {
      async file(file: { filename: string; mime_type: string }) {
        kept.push(file);
        return { file_id: `file_${kept.length}` };
      },
    };
    const audio = { type: 'audio', data: base64(10), mimeType: 'audio/wav' };
    const blocks = Array.from({ length: 40 }, () => audio);
    const told = await toContent({ content: blocks }, keeping);
    expect(kept).toHaveLength(32);
    expect(String(told).match(/left out: a result may have 32 files/g)).toHaveLength(8);
    const large = { ...audio, data: base64(5 * 1024 * 1024) };
    expect(await toContent({ content: [large, large, large] }, keeping)).toMatch(/left out/);
    expect(kept).toHaveLength(34);
  });

  it('has only so many parts, and long texts in one, wherever images stand', async () => {
    const texts = Array.from({ length: 600 }, (_, n) => ({ type: 'text', text: `${n}` }));
    expect(await content(...texts)).toMatch(/\n\n499\n\n\[100 more parts were left out\]$/);
    const long = { type: 'text', text: 'x'.repeat(40_000) };
    const image = { type: 'image', data: base64(10), mimeType: 'image/png' };
    const parts = await content(long, image, long, image);
    expect(Array.isArray(parts) && parts.map(({ type }) => type)).toEqual(['text', 'image_url', 'image_url']);
  });

  it('has its files under names and types that are safe', async () => {
    const kept: unknown[] = [];
    const keeping = {
      async file({ filename, mime_type }: { filename: string; mime_type: string }) {
        kept.push([filename, mime_type]);
        return { file_id: 'file_1' };
      },
    };
    const resource = (uri: string, mimeType: string) => ({
      type: 'resource',
      resource: { uri, mimeType, blob: 'AAAA' },
    });
    const told = await toContent(
      {
        content: [
          resource('file:///a/..%2f\u202egnp.exe', 'text/html\r\nset-cookie: a=b'),
          resource('file:///tmp/-rf.txt?x=1', 'Text/Plain; charset=utf-8'),
          resource(`file:///${'?'.repeat(1_000_000)}\n`, 'image'),
        ],
      },
      keeping,
    );
    expect(kept).toEqual([
      ['..%2fgnp.exe'.replace(/^\.+/, ''), 'application/octet-stream'],
      ['rf.txt', 'text/plain'],
      ['file.bin', 'application/octet-stream'],
    ]);
    expect(String(told)).not.toContain('set-cookie');
  });
});
