/**
 * One behaviour, three vendors: each row runs against each of them, over a socket, with a stream in that vendor's wire
 * format. The names of the rows are the rows of the table in docs/providers.md (see docs.test.ts).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest } from '../../contract/model-provider.js';
import { assemble, failureOf, modelRequest, partsFrom, tool } from './model-request.js';
import { VENDORS, type Vendor } from './vendors.js';
import { startWireServer, type WireReply, type WireRequest, type WireServer } from './wire-server.js';

const WEATHER = 'demo.weather.get_weather';
const CLOCK = 'demo.clock.current_time';
const TOOLS = [tool(WEATHER), tool(CLOCK)];
const PIXEL = 'iVBORw0KGgo=';
const CLOSED = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

describe.each(VENDORS)('$name', (vendor: Vendor) => {
  let server: WireServer;
  let provider: ModelProvider;
  beforeAll(async () => {
    server = await startWireServer(vendor.path);
    provider = vendor.connect(server.baseURL);
  });
  afterAll(() => server.close());

  const by = <T>(answers: Record<Vendor['name'], T>): T => answers[vendor.name];
  const request = (change: Partial<ModelRequest> = {}) =>
    modelRequest({ model: vendor.model, tools: TOOLS, ...change });

  async function play(stream: string, change: Partial<ModelRequest> = {}) {
    server.reply(vendor.stream(stream));
    const parts = await partsFrom(provider, request(change));
    return { parts, completion: assemble(parts) };
  }

  async function sent(change: Partial<ModelRequest> = {}): Promise<WireRequest> {
    await play('text', change);
    const last = server.requests.at(-1);
    if (last === undefined) throw new Error('nothing was sent');
    return last;
  }

  async function refused(reply: WireReply) {
    const before = server.requests.length;
    server.reply(reply);
    const failed = await failureOf(provider, request());
    expect(server.requests).toHaveLength(before + 1);
    expect(failed.error).toMatchObject({ provider: vendor.name, message: expect.stringContaining(vendor.model) });
    return failed;
  }

  function callsOf({ messages }: ReturnType<typeof assemble>) {
    return messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  }

  describe('answers', () => {
    it('text', async () => {
      const { parts, completion } = await play('text');
      const deltas = parts.flatMap((part) => (part.type === 'text' ? [part.delta] : []));
      expect(deltas).toEqual(['Hello', ',', ' Zoë', ' 👋', '!']);
      expect(completion).toMatchObject({
        messages: [{ role: 'assistant', content: 'Hello, Zoë 👋!' }],
        stop_reason: 'end_turn',
      });
      expect(server.requests.at(-1)?.url).toBe(vendor.wire.url);
    });

    it('usage with cache counts', async () => {
      const { completion } = await play('text');
      expect(completion.usage).toEqual({
        model: by({ openai: 'gpt-4o-2024-08-06', anthropic: 'claude-sonnet-5-20260601', gemini: 'gemini-3-pro' }),
        input_tokens: 1117,
        input_cached_tokens: 1024,
        ...by<object>({
          openai: {},
          anthropic: { input_cache_creation_tokens: 50 },
          gemini: { input_image_tokens: null },
        }),
        output_tokens: 6,
        total_tokens: 1123,
      });
    });

    it('reasoning', async () => {
      const { completion } = await play(vendor.name === 'openai' ? 'reasoning-content' : 'reasoning');
      expect(completion.messages).toEqual([
        {
          role: 'reasoning',
          content: 'Okay, 9.11 < 9.8',
          meta: { block: 1 },
          ...by<object>({
            openai: {},
            anthropic: { provider_meta: { anthropic: { signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' } } },
            gemini: {},
          }),
        },
        {
          role: 'assistant',
          content: '9.8 is greater.',
          meta: { block: 2 },
          ...by<object>({
            openai: {},
            anthropic: {},
            gemini: { provider_meta: { gemini: { thought_signature: 'EvEFtextsignature' } } },
          }),
        },
      ]);
    });

    it('refusal', async () => {
      const { completion } = await play('refusal');
      expect(completion).toMatchObject({
        messages: [
          {
            role: 'assistant',
            content: null,
            refusal: by({
              openai: "I'm sorry, I can't help with that.",
              anthropic: "I'm sorry, I can't help with that.",
              gemini: 'The model declined to answer (PROHIBITED_CONTENT).',
            }),
          },
        ],
        stop_reason: 'refusal',
      });
    });

    it('the limit of the answer', async () => {
      const { completion } = await play('length');
      expect(completion).toMatchObject({ messages: [{ content: 'Once upon' }], stop_reason: 'max_tokens' });
    });

    it('unknown finish reason', async () => {
      const { completion } = await play('unknown-finish');
      expect(completion).toMatchObject({ messages: [{ content: 'Fine.' }], stop_reason: 'end_turn' });
      expect(JSON.stringify(completion.provider_meta).toLowerCase()).toContain('stopped_for_tea');
    });
  });

  describe('tools', () => {
    it('parallel tool calls', async () => {
      const { parts, completion } = await play('parallel-tool-calls');
      expect(completion.stop_reason).toBe('tool_use');
      const calls = callsOf(completion);
      expect(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
        [WEATHER, { city: 'Paris' }],
        [CLOCK, { zone: 'Europe/Paris' }],
      ]);
      const pieces = parts.filter((part) => part.type === 'tool_call' && part.index === 0 && part.arguments_delta);
      // Gemini hands over a call at once.
      expect(pieces.length).toBeGreaterThanOrEqual(vendor.name === 'gemini' ? 1 : 3);
      expect(calls.map((call) => Object.keys(call.provider_meta as object))).toEqual([[vendor.name], [vendor.name]]);
    });

    it('text before a tool call', async () => {
      const { completion } = await play('text-then-tool-call');
      expect(completion.messages).toHaveLength(1);
      expect(completion.messages[0]).toMatchObject({ content: 'Let me look.', tool_calls: [{}] });
    });

    it('invented tool name', async () => {
      const { completion } = await play('invented-tool');
      expect(callsOf(completion)[0]?.function.name).toBe('search_the_web');
    });

    it('tool names in the vendor’s alphabet', async () => {
      const { body } = await sent({ tools: [tool(WEATHER), tool(`demo.clock.${'x'.repeat(80)}`)] });
      const names = (vendor.wire.tools(body) as { name?: string; function?: { name: string } }[]).map(
        (each) => each.name ?? each.function?.name ?? '',
      );
      expect(names[0]).toBe('demo-weather-get_weather');
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    });

    it.each([
      ['auto', by<unknown>({ openai: 'auto', anthropic: { type: 'auto' }, gemini: { mode: 'AUTO' } })],
      ['required', by<unknown>({ openai: 'required', anthropic: { type: 'any' }, gemini: { mode: 'ANY' } })],
      ['none', by<unknown>({ openai: 'none', anthropic: { type: 'none' }, gemini: { mode: 'NONE' } })],
      [
        CLOCK,
        by<unknown>({
          openai: { type: 'function', function: { name: 'demo-clock-current_time' } },
          anthropic: { type: 'tool', name: 'demo-clock-current_time' },
          gemini: { mode: 'ANY', allowedFunctionNames: ['demo-clock-current_time'] },
        }),
      ],
    ])('tool choice: %s', async (tool_choice, wire) => {
      expect(vendor.wire.toolChoice((await sent({ tool_choice })).body)).toEqual(wire);
    });

    it('no tools, no choice', async () => {
      const { body } = await sent({ tools: [], tool_choice: 'none' });
      expect(vendor.wire.toolChoice(body)).toBeUndefined();
      expect(vendor.wire.tools(body)).toBeUndefined();
    });

    it.each([
      ['required', []],
      [CLOCK, [tool(WEATHER)]],
    ])('a choice that cannot be kept is an error before the call: %s', async (tool_choice, tools) => {
      const before = server.requests.length;
      const { error } = await failureOf(provider, request({ tool_choice, tools }));
      expect(error).toMatchObject({ code: 'model_bad_request', provider: vendor.name });
      expect(server.requests).toHaveLength(before);
    });

    it('strict schemas', async () => {
      const open = { type: 'object', properties: { city: { type: 'string' } } };
      const tools = [
        tool(WEATHER, { parameters: CLOSED, strict: true }),
        tool(CLOCK, { parameters: open, strict: true }),
      ];
      const { body } = await sent({ tools });
      const name = ['demo-weather-get_weather', 'demo-clock-current_time'];
      const description = [`What ${WEATHER} does`, `What ${CLOCK} does`];
      expect(vendor.wire.tools(body)).toEqual(
        by<unknown>({
          openai: [
            {
              type: 'function',
              function: { name: name[0], description: description[0], parameters: CLOSED, strict: true },
            },
            { type: 'function', function: { name: name[1], description: description[1], parameters: open } },
          ],
          anthropic: [
            { name: name[0], description: description[0], input_schema: CLOSED, strict: true },
            { name: name[1], description: description[1], input_schema: open },
          ],
          gemini: [
            { name: name[0], description: description[0], parametersJsonSchema: CLOSED },
            { name: name[1], description: description[1], parametersJsonSchema: open },
          ],
        }),
      );
      if (vendor.name === 'gemini') expect(vendor.wire.toolChoice(body)).toEqual({ mode: 'VALIDATED' });
    });
  });

  describe('input', () => {
    it('images and documents', async () => {
      const { body } = await sent({
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Compare.' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
              { type: 'document', source: { data: 'JVBERi0=', media_type: 'application/pdf' } },
            ],
          },
        ],
      });
      expect(vendor.wire.userParts(body)).toEqual(
        by<unknown>({
          openai: [
            { type: 'text', text: 'Compare.' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          ],
          anthropic: [
            { type: 'text', text: 'Compare.' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
          ],
          gemini: [
            { text: 'Compare.' },
            { inlineData: { mimeType: 'image/png', data: PIXEL } },
            { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } },
            { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
          ],
        }),
      );
    });

    it('images in tool results', async () => {
      const { body } = await sent({
        messages: [
          { role: 'user', content: 'Look.' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_1_1', type: 'function', function: { name: WEATHER, arguments: '{}' } }],
          },
          {
            role: 'tool',
            tool_call_id: 'call_1_1',
            tool_name: WEATHER,
            content: [
              { type: 'text', text: 'The sky:' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
            ],
          },
        ],
      });
      expect(JSON.stringify(body)).toContain('The sky:');
      expect(vendor.wire.userParts(body)).toEqual(
        by<unknown>({
          openai: [
            { type: 'text', text: 'From the result of demo-weather-get_weather (call_1_1):' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          ],
          anthropic: [
            {
              type: 'tool_result',
              tool_use_id: 'call_1_1',
              content: [
                { type: 'text', text: 'The sky:' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
              ],
            },
          ],
          gemini: [
            {
              functionResponse: {
                id: 'call_1_1',
                name: 'demo-weather-get_weather',
                response: { output: 'The sky:\n' },
              },
            },
            { text: 'From the result of demo-weather-get_weather:' },
            { inlineData: { mimeType: 'image/png', data: PIXEL } },
          ],
        }),
      );
    });

    it('structured output', async () => {
      const response_format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: CLOSED } };
      const { body } = await sent({ parameters: { response_format, max_output_tokens: 77 } });
      expect(vendor.wire.format(body)).toEqual(
        by<unknown>({
          openai: response_format,
          anthropic: { type: 'json_schema', schema: CLOSED },
          gemini: CLOSED,
        }),
      );
      expect(vendor.wire.limit(body)).toBe(77);
    });
  });

  describe('failures', () => {
    it('rate limit', async () => {
      const { error } = await refused(vendor.errors.rate_limited);
      expect(error).toMatchObject({ code: 'model_rate_limited', http_status: 429, retry_after_ms: 20_000 });
    });

    it('overloaded', async () => {
      const { error } = await refused(vendor.errors.overloaded);
      expect(error).toMatchObject({ code: 'model_overloaded', http_status: vendor.name === 'anthropic' ? 529 : 503 });
    });

    it.each([
      ['context', 'model_context_exceeded'],
      ['unauthorized', 'model_unauthorized'],
      ['not_found', 'model_not_found'],
      ['bad_request', 'model_bad_request'],
    ] as const)('what no retry cures: %s', async (kind, code) => {
      const { error } = await refused(vendor.errors[kind]);
      expect(error.code).toBe(code);
      expect(ERRORS[error.code].retry).toBe(false);
    });

    it.each(['destroy', 'close'] as const)('a stream cut in its text (%s)', async (end) => {
      const { error, parts } = await refused(vendor.stream('no-finish', end));
      expect(error.code).toBe('model_stream_cut');
      expect(parts).toEqual([
        { type: 'text', delta: 'Half an' },
        { type: 'text', delta: ' ans' },
      ]);
    });

    it.each(['destroy', 'close'] as const)('a stream cut in a tool call (%s)', async (end) => {
      const { error, parts } = await refused(vendor.stream('no-finish-tool-call', end));
      expect(error.code).toBe('model_stream_cut');
      // Gemini's calls are never half: the one that came is whole.
      expect(callsOf(assemble(parts))).toHaveLength(vendor.name === 'gemini' ? 1 : 0);
    });

    it.each(['destroy', 'close'] as const)('a stream cut in a line (%s)', async (end) => {
      const whole = vendor.stream('text', end);
      const { error } = await refused({ ...whole, body: whole.body.slice(0, whole.body.indexOf('Zoë') + 2) });
      expect(error.code).toBe('model_stream_cut');
    });

    it.each(['', ': ping\n\n'])('an empty stream (%j)', async (body) => {
      const { error } = await refused({ ...vendor.stream('text'), body });
      expect(error.code).toBe('model_stream_empty');
    });

    it('an answer without content', async () => {
      const { error, parts } = await refused(vendor.stream('empty'));
      expect(error.code).toBe('model_stream_empty');
      expect(parts).toEqual([]);
    });

    it('an error in the stream', async () => {
      const { error, parts } = await refused(vendor.stream('error-in-stream'));
      expect(ERRORS[error.code].retry).toBe(true);
      expect(parts).not.toEqual([]);
    });

    it('a vendor that cannot be reached', async () => {
      const gone = await startWireServer(vendor.path);
      await gone.close();
      const { error } = await failureOf(vendor.connect(gone.baseURL), request());
      expect(error).toMatchObject({ code: 'model_network', provider: vendor.name });
      expect(error.message).toContain('ECONNREFUSED');
    });
  });

  describe('abort', () => {
    it('in the middle of a stream', async () => {
      server.reply(vendor.stream('no-finish', 'hang'));
      const controller = new AbortController();
      const deltas: string[] = [];
      for await (const part of provider.stream(request(), controller.signal)) {
        if (part.type === 'text') deltas.push(part.delta);
        if (deltas.length === 2) controller.abort();
      }
      expect(deltas).toEqual(['Half an', ' ans']);
      await server.requests.at(-1)?.disconnected;
    });

    it('before the vendor has answered', async () => {
      server.reply({ body: '', end: 'hang' });
      expect(await partsFrom(provider, request(), AbortSignal.timeout(50))).toEqual([]);
      await server.requests.at(-1)?.disconnected;
    });

    it('before the call', async () => {
      const before = server.requests.length;
      expect(await partsFrom(provider, request(), AbortSignal.abort())).toEqual([]);
      expect(server.requests).toHaveLength(before);
    });

    it('a reader that goes away', async () => {
      server.reply(vendor.stream('no-finish', 'hang'));
      for await (const part of provider.stream(request(), new AbortController().signal)) {
        expect(part.type).toBe('text');
        break;
      }
      await server.requests.at(-1)?.disconnected;
    });
  });
});
