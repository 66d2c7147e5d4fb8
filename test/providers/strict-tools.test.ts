/** Tools as people write them, on the vendors' wire: strict mode takes them, and what it makes of them is undone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askClarificationSpec } from '../../activities/ask-clarification.js';
import { readOutputSpec } from '../../activities/read-output.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import type { Tool } from '../../kit/index.js';
import { toolSpec } from '../../kit/tool-spec.js';
import { anthropic, openai } from '../../providers/index.js';
import { codeInterpreter, scratchpadTools, webTools } from '../../tools/index.js';
import { createWorld, ofType } from '../support/world.js';
import { modelRequest, partsFrom } from './model-request.js';
import { startWireServer, streamsOf } from './wire-server.js';
import type { WireReply, WireServer } from './wire-server.js';

const specOf = (tool: Tool) =>
  toolSpec(tool, 'tool', (field, problem) => {
    throw new Error(`${field} ${problem}`);
  });
const search = { search: () => Promise.resolve([]) } as never;
const SHIPPED = [...webTools({ search }), ...scratchpadTools(), codeInterpreter()].map(specOf);

/** With everything that people use. */
const BOOKING = z.object({
  city: z.string().min(1).describe('Where'),
  nights: z.number().int().min(1).max(30).default(1),
  room: z.enum(['single', 'double']).optional(),
  note: z.string().max(500).nullish(),
  link: z.url().optional(),
  guests: z.array(z.object({ name: z.string(), age: z.number().optional() })).optional(),
  pay: z
    .discriminatedUnion('by', [
      z.object({ by: z.literal('card'), number: z.string() }),
      z.object({ by: z.literal('cash'), tip: z.number().optional() }),
    ])
    .optional(),
});
const booking = (run: (input: z.output<typeof BOOKING>) => string, strict?: boolean) =>
  defineTool({
    tool_id: 'hotel.rooms.book',
    description: 'Books a room.',
    input: BOOKING,
    ...(strict === undefined ? {} : { strict }),
    run,
  });

interface SentTool {
  name: string;
  strict?: boolean;
  parameters: Record<string, unknown>;
}

let server: WireServer;
beforeAll(async () => {
  server = await startWireServer('/v1');
});
afterAll(() => server.close());

async function sentTools(vendor: 'openai' | 'anthropic', tools: readonly ReturnType<typeof specOf>[]) {
  server.reply(streamsOf(vendor)('text'));
  const options = { apiKey: 'sk-test', baseURL: server.baseURL };
  const provider = vendor === 'openai' ? openai(options) : anthropic(options);
  const given = tools.map(({ tool_id, description, parameters, strict }) => ({
    name: tool_id,
    description,
    parameters,
    strict,
  }));
  await partsFrom(provider, modelRequest({ tools: given }));
  const sent = server.requests.at(-1)?.body['tools'] as Record<string, unknown>[];
  return sent.map((tool): SentTool => {
    const { input_schema, function: asked } = tool as { input_schema?: object; function?: SentTool };
    return asked ?? ({ ...tool, parameters: input_schema } as unknown as SentTool);
  });
}

describe.each(['openai', 'anthropic'] as const)('%s', (vendor) => {
  it('gets every tool that ships, and the runtime’s own, as strict ones', async () => {
    const all = [...SHIPPED, readOutputSpec, askClarificationSpec];
    const sent = await sentTools(vendor, all);
    expect(SHIPPED).toHaveLength(9);
    expect(sent.filter(({ strict }) => strict !== true).map(({ name }) => name)).toEqual([]);
    for (const { parameters } of sent) expect(parameters).toMatchObject({ additionalProperties: false });
  });

  it('gets a tool without it where its author says so', async () => {
    const [sent] = await sentTools(vendor, [specOf(booking(() => '', false))]);
    expect(sent).not.toHaveProperty('strict');
    expect(sent?.parameters).toEqual(specOf(booking(() => '')).parameters);
  });

  it('gets a tool without it that strict mode cannot take', async () => {
    const open = defineTool({
      tool_id: 'hotel.rooms.tag',
      description: 'Tags.',
      input: z.object({ tags: z.record(z.string(), z.string()) }),
      run: () => '',
    });
    expect((await sentTools(vendor, [specOf(open)]))[0]).not.toHaveProperty('strict');
  });
});

it('openai has every property required, null where it may be left out; bounds that it does not know are told', async () => {
  const [sent] = await sentTools('openai', [specOf(booking(() => ''))]);
  const card = { properties: { by: { type: 'string', const: 'card' }, number: { type: 'string' } } };
  expect(sent).toMatchObject({
    strict: true,
    parameters: {
      type: 'object',
      additionalProperties: false,
      required: ['city', 'nights', 'room', 'note', 'link', 'guests', 'pay'],
      properties: {
        city: { type: 'string', description: 'Where (minLength: 1)' },
        nights: { type: ['integer', 'null'], minimum: 1, maximum: 30, description: '(default: 1)' },
        room: { type: ['string', 'null'], enum: ['single', 'double', null] },
        note: { anyOf: [{ type: 'string', description: '(maxLength: 500)' }, { type: 'null' }] },
        link: { type: ['string', 'null'], description: '(format: uri)' },
        guests: {
          anyOf: [
            {
              type: 'array',
              items: {
                type: 'object',
                additionalProperties: false,
                required: ['name', 'age'],
                properties: { name: { type: 'string' }, age: { type: ['number', 'null'] } },
              },
            },
            { type: 'null' },
          ],
        },
        pay: { anyOf: [{ required: ['by', 'number'], ...card }, { required: ['by', 'tip'] }, { type: 'null' }] },
      },
    },
  });
});

it('anthropic has them as they are, up to as many as it takes', async () => {
  const [sent] = await sentTools('anthropic', [specOf(booking(() => ''))]);
  expect(sent).toMatchObject({ strict: true, parameters: { required: ['city'], additionalProperties: false } });
  // Seven of them may be left out in each: the fourth would be more than twenty-four.
  const many = Array.from({ length: 5 }, (_, n) => ({
    ...specOf(booking(() => '')),
    tool_id: `hotel.rooms.book_${n}`,
  }));
  const strict = (await sentTools('anthropic', many)).map((tool) => tool.strict === true);
  expect(strict.filter(Boolean).length).toBeGreaterThan(0);
  expect(strict.filter(Boolean).length).toBeLessThan(5);
});

it('a server that takes no strict tools gets none', async () => {
  server.reply(streamsOf('openai')('text'));
  const provider = openai({ apiKey: 'sk-test', baseURL: server.baseURL, strictTools: false });
  const { tool_id: name, description, parameters } = specOf(booking(() => ''));
  await partsFrom(provider, modelRequest({ tools: [{ name, description, parameters, strict: true }] }));
  expect(JSON.stringify(server.requests.at(-1)?.body['tools'])).not.toContain('"strict"');
});

describe('a run', () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-1', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const reply = (...chunks: string[]): WireReply => ({
    headers: { 'content-type': 'text/event-stream' },
    body: `${chunks.join('')}data: [DONE]\n\n`,
  });

  it('gives the tool what the model meant: nulls for what it left out are taken out, others stay', async () => {
    const args = {
      city: 'Oslo',
      nights: null,
      room: null,
      note: null,
      link: null,
      guests: [{ name: 'Ann', age: null }],
      pay: { by: 'cash', tip: null },
    };
    const got: unknown[] = [];
    const tool = booking((input) => {
      got.push(input);
      return 'booked';
    });
    const world = await createWorld({
      models: { vendor: { provider: openai({ apiKey: 'sk-test', baseURL: server.baseURL }), model: 'gpt-1' } },
      agents: [defineAgent({ agent_id: 'test.desk', instructions: 'Book.', tools: [tool] })],
    });
    try {
      const called = { index: 0, id: 'v1', function: { name: 'hotel-rooms-book', arguments: JSON.stringify(args) } };
      server.reply(reply(chunk({ role: 'assistant', tool_calls: [called] }), chunk({}, 'tool_calls')));
      server.reply(reply(chunk({ role: 'assistant', content: 'Booked.' }), chunk({}, 'stop')));
      const log = await world.run('test.desk', 'A room in Oslo');
      expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'Booked.' });
      expect(got).toEqual([{ city: 'Oslo', nights: 1, note: null, guests: [{ name: 'Ann' }], pay: { by: 'cash' } }]);
      // What the model wrote is in the log as it wrote it.
      expect(ofType(log, 'tool_requested')[0]?.arguments).toBe(JSON.stringify(args));
    } finally {
      await world.end();
    }
  });
});
