import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolError } from '../../kit/index.js';
import type { ToolContext } from '../../kit/index.js';
import { isToolError } from '../../kit/tool-error.js';

describe('defineTool', () => {
  it('infers what the tool gets from its input, defaults and transforms included', () => {
    const input = z.object({
      url: z.string(),
      depth: z.number().default(1),
      since: z.iso.date().transform((text) => new Date(text)),
      tags: z.array(z.enum(['a', 'b'])).optional(),
    });
    const tool = defineTool({
      tool_id: 'web.pages.read',
      description: 'Reads.',
      input,
      run(args, context) {
        expectTypeOf(args).toEqualTypeOf<{
          url: string;
          depth: number;
          since: Date;
          tags?: ('a' | 'b')[] | undefined;
        }>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return `${args.url} ${args.depth} ${args.since.getUTCFullYear()}`;
      },
    });
    const args = tool.options.input.parse({ url: 'x', since: '2026-03-14' });
    expect(tool.options.run(args, {} as ToolContext)).toBe('x 1 2026');
  });

  it('refuses, when it is compiled, a tool that reads what its input does not have', () => {
    const tool = defineTool({
      tool_id: 'web.pages.read',
      description: 'Reads.',
      input: z.object({ url: z.string() }),
      // @ts-expect-error: there is no `link` in the input.
      run: ({ link }) => String(link),
    });
    expect(tool.options.run({ url: 'x' }, {} as ToolContext)).toBe('undefined');
  });

  it('hands on what it was given, untouched', () => {
    const options = { tool_id: 'a.b.c', description: 'd', input: z.object({}), output: z.string(), run: () => 'x' };
    expect(defineTool(options)).toEqual({ kind: 'tool', options });
  });
});

describe('a ToolError', () => {
  it.each([
    ['rate_limited', true],
    ['timeout', true],
    ['invalid_call', false],
    ['denied', false],
    ['internal', false],
  ] as const)('of kind %s is retryable: %s', (kind, retryable) => {
    expect(new ToolError(kind, 'm').retryable).toBe(retryable);
  });

  it('is retried as its author says', () => {
    expect(new ToolError('internal', 'm', { retryable: true }).retryable).toBe(true);
    expect(new ToolError('timeout', 'm', { retryable: false }).retryable).toBe(false);
  });

  it('is known by its name, whichever copy of the package made it', () => {
    expect(isToolError(new ToolError('denied', 'm'))).toBe(true);
    expect(isToolError(Object.assign(new Error('m'), { name: 'ToolError', kind: 'denied' }))).toBe(true);
    expect(isToolError(new Error('ToolError'))).toBe(false);
    expect(isToolError('ToolError')).toBe(false);
  });

  it('keeps its cause', () => {
    const cause = new Error('below');
    expect(new ToolError('internal', 'above', { cause }).cause).toBe(cause);
  });
});
