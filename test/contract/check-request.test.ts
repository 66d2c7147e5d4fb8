import { describe, expect, it } from 'vitest';
import { checkRequest } from '../../contract/check-request.js';
import { INPUT_LIMIT_BYTES, TEXT_LIMITS } from '../../contract/sizes.js';

const smallest = { agent_id: 'demo.assistant', input: 'hello' };

const clientTool = (name: string, input_schema: object) => ({ name, description: 'Does it.', input_schema });
const withSchema = (schema: object) => ({ ...smallest, client_tools: [clientTool('client_act', schema)] });
const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });

describe('a request for a run', () => {
  it('needs no more than an agent and an input', () => {
    expect(checkRequest(smallest)).toEqual(smallest);
  });

  it('may have durations as text, which become milliseconds', () => {
    const limits = { run: { time_budget: '5m', max_steps: 3 } };
    expect(checkRequest({ ...smallest, limits }).limits).toEqual({ run: { time_budget: 300_000, max_steps: 3 } });
  });

  it.each([
    ['no agent', { input: 'hello' }, /agent_id: /],
    ['an agent id that is not canonical', { ...smallest, agent_id: 'assistant' }, /agent_id: must be service\.agent/],
    ['no input', { agent_id: 'demo.assistant' }, /input: /],
    ['an empty input', { ...smallest, input: '' }, /input: must not be empty/],
    ['an empty list as input', { ...smallest, input: [] }, /input: /],
    ['a part of a kind that there is not', { ...smallest, input: [{ type: 'video', url: 'x' }] }, /input/],
    ['a run id with a slash', { ...smallest, run_id: 'a/b' }, /run_id: may hold letters, digits .* no "\/"/],
    ['an unknown field', { ...smallest, modle: 'fast' }, /"modle"/],
    ['an unknown limit', { ...smallest, limits: { run: { max_step: 3 } } }, /limits\.run: .*"max_step"/],
    ['a limit that is no number', { ...smallest, limits: { run: { max_steps: 'ten' } } }, /limits\.run\.max_steps: /],
    [
      'a time that is no duration',
      { ...smallest, limits: { run: { time_budget: 'soon' } } },
      /limits\.run\.time_budget: is no duration/,
    ],
    ['a tool of the caller’s with a schema that is too deep', withSchema(deep(100)), /nested more than 64 levels/],
    [
      'a tool of the caller’s with a schema that is too long',
      withSchema({ description: 'x'.repeat(200_000) }),
      /client_tools\.0\.input_schema: its schema has more than 131072 characters/,
    ],
    [
      'a tool of the caller’s with too many references',
      withSchema({ allOf: Array.from({ length: 501 }, () => ({ $ref: '#' })) }),
      /more than 500 references/,
    ],
    [
      'too many tools of the caller’s',
      { ...smallest, client_tools: Array.from({ length: 129 }, (_, n) => clientTool(`client_t${n}`, {})) },
      /client_tools: .*128/,
    ],
    ['a text', 'hello', /request: /],
    ['nothing', undefined, /request: /],
  ])('with %s is refused, and the error names the field', (_what, request, message) => {
    expect(() => checkRequest(request)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(message) }),
    );
  });

  it('with several mistakes is refused with all of them', () => {
    expect(() => checkRequest({ agent_id: 'x', input: '', run_id: '/', extra: 1 })).toThrow(
      /agent_id: .*; input: .*; run_id: .*"extra".*\. Correct what is named and try again\.$/,
    );
  });

  it('of 5 MB is refused with its size and the limit', () => {
    const input = 'x'.repeat(5 * 1024 * 1024);
    expect(() => checkRequest({ ...smallest, input })).toThrow(
      expect.objectContaining({
        code: 'input_too_large',
        message: expect.stringMatching(
          /^the input has 5242880 bytes; at most 1048576 can be taken\. Shorten the input/,
        ),
      }),
    );
  });

  it('is measured in bytes, not in characters', () => {
    const input = '€'.repeat(INPUT_LIMIT_BYTES / 2);
    expect(() => checkRequest({ ...smallest, input })).toThrow(`the input has ${(INPUT_LIMIT_BYTES / 2) * 3} bytes`);
  });

  it('may have an input of exactly the limit, and not one byte more', () => {
    const input = 'x'.repeat(INPUT_LIMIT_BYTES);
    expect(checkRequest({ ...smallest, input }).input).toBe(input);
    expect(() => checkRequest({ ...smallest, input: `${input}x` })).toThrow(/input has 1048577 bytes/);
  });

  it('is measured with all its parts', () => {
    const input = [
      { type: 'text', text: 'x'.repeat(INPUT_LIMIT_BYTES / 2) },
      { type: 'text', text: 'y'.repeat(INPUT_LIMIT_BYTES / 2) },
    ];
    expect(() => checkRequest({ ...smallest, input })).toThrow(expect.objectContaining({ code: 'input_too_large' }));
  });

  it.each([
    ['metadata', { text: 'x'.repeat(16 * 1024) }],
    ['client_tools', [1, 2, 3].map((n) => clientTool(`client_t${n}`, { description: 'x'.repeat(100_000) }))],
    ['goals', [{ goal_type: 'x', goal_data: { text: 'x'.repeat(70_000) } }]],
    ['created_by', 'x'.repeat(2_000)],
    ['thread_id', 'x'.repeat(3_000)],
    ['tool_state', { 'test.notes': [{ key: 'x', value: 'x'.repeat(INPUT_LIMIT_BYTES) }] }],
    ['roles', Array.from({ length: 3 }, () => 'x'.repeat(6_000))],
    ['policy', { deny: Array.from({ length: 5_000 }, () => 'test.tools.echo') }],
  ])('is refused where %s is too large, with its size and the limit', (field, value) => {
    const limit = TEXT_LIMITS[field as keyof typeof TEXT_LIMITS];
    expect(() => checkRequest({ ...smallest, [field]: value })).toThrow(
      expect.objectContaining({
        code: 'input_too_large',
        issues: [{ path: field, message: expect.stringMatching(`^has \\d+ bytes; at most ${limit} can be taken$`) }],
      }),
    );
  });

  it('of a turn keeps what its thread was given when the table was another one', () => {
    const thread = { turn: 1, length: 0, digest: 'x', characters: 0 };
    const metadata = { text: 'x'.repeat(32 * 1024) };
    expect(checkRequest({ ...smallest, metadata, thread }).metadata).toEqual(metadata);
  });
});
