import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createToolNames, VENDOR_NAME_PATTERN } from '../../providers/tool-names.js';

// A small alphabet, so that near misses (`a_b.c`, `a.b_c`) are common; long segments, so that names are cut.
const segment = fc
  .tuple(fc.constantFrom('a', 'b'), fc.string({ unit: fc.constantFrom('a', '_', '0'), maxLength: 40 }))
  .map(([first, rest]) => first + rest);
const toolId = fc.tuple(segment, segment, segment).map((segments) => segments.join('.'));

describe('tool names', () => {
  it('maps a canonical id to a readable vendor name', () => {
    const names = createToolNames(['web.pages.read_web_page']);
    expect(names.toVendor('web.pages.read_web_page')).toBe('web-pages-read_web_page');
    expect(names.fromVendor('web-pages-read_web_page')).toBe('web.pages.read_web_page');
  });

  it('is a bijection between the ids of any request and vendor-safe names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(toolId, { maxLength: 30 }), (ids) => {
        const names = createToolNames(ids);
        const vendorNames = ids.map((id) => names.toVendor(id));
        for (const name of vendorNames) expect(name).toMatch(VENDOR_NAME_PATTERN);
        expect(new Set(vendorNames).size).toBe(ids.length);
        expect(vendorNames.map((name) => names.fromVendor(name))).toEqual(ids);
      }),
    );
  });

  it('keeps ids apart that differ only in where a dot or an underscore is', () => {
    const ids = ['a.b_c.d', 'a_b.c.d', 'a.b.c_d', 'a.b__c.d'];
    const names = createToolNames(ids);
    expect(new Set(ids.map((id) => names.toVendor(id))).size).toBe(ids.length);
  });

  it('shortens long ids that differ only at their end to different names of 64 characters', () => {
    const ids = ['x', 'y'].map((end) => `service.toolset.${'long_'.repeat(12)}${end}`);
    const names = createToolNames(ids);
    const [first = '', second = ''] = ids.map((id) => names.toVendor(id));
    expect(first).toHaveLength(64);
    expect(first).toMatch(VENDOR_NAME_PATTERN);
    expect(first).not.toBe(second);
    expect(names.fromVendor(second)).toBe(ids[1]);
  });

  it.each(['read_web_page', 'web.read', 'web.pages.Read', 'web.pages.read-page', '', 'a..b', 'a.b.c.d', '1.b.c'])(
    'rejects %j, which is not canonical, with a reason',
    (id) => {
      expect(() => createToolNames([id])).toThrow(
        expect.objectContaining({ code: 'invalid_config', message: expect.stringContaining('not canonical') }),
      );
    },
  );

  it('rejects a tool that is offered twice', () => {
    expect(() => createToolNames(['a.b.c', 'a.b.c'])).toThrow(/a\.b\.c cannot be offered.*twice/);
  });

  it('hands on a name that a model invented as it is', () => {
    const names = createToolNames(['web.pages.read_web_page']);
    for (const invented of ['search_the_web', 'read web page', '__proto__', 'constructor', ''])
      expect(names.fromVendor(invented)).toBe(invented);
  });

  it('knows the id of a tool that is not offered by its vendor name', () => {
    const names = createToolNames(['web.pages.read_web_page']);
    expect(names.fromVendor('mail-box-send')).toBe('mail.box.send');
    expect(names.toVendor(names.fromVendor('mail-box-send'))).toBe('mail-box-send');
    for (const invented of ['mail-send', 'a-b-c-d', 'Mail-box-send', 'mail-box-', 'mail--box-send'])
      expect(names.fromVendor(invented)).toBe(invented);
  });

  it('makes any past name vendor-safe, and never that of a tool of the request', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), toolId, (invented, id) => {
        fc.pre(invented !== id);
        const names = createToolNames([id]);
        expect(names.toVendor(invented)).toMatch(VENDOR_NAME_PATTERN);
        expect(names.toVendor(invented)).not.toBe(names.toVendor(id));
      }),
    );
    const names = createToolNames(['a.b.c']);
    expect(names.toVendor('a-b-c')).toMatch(/^a-b-c--/);
    expect(names.toVendor('search_the_web')).toBe('search_the_web');
  });

  it('gives a tool that is no longer offered the name it had', () => {
    const id = 'web.pages.read_web_page';
    expect(createToolNames([]).toVendor(id)).toBe(createToolNames([id]).toVendor(id));
  });
});
