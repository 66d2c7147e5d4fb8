/** What only Anthropic has, on a socket; what all vendors share is in behaviour.test.ts. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { BaseMessage } from '../../../contract/messages.js';
import type { ModelProvider, ModelRequest } from '../../../contract/model-provider.js';
import { anthropic } from '../../../providers/index.js';
import { assemble, failureOf, modelRequest, partsFrom, tool } from '../model-request.js';
import { errorReply, startWireServer, streamsOf, type WireServer } from '../wire-server.js';

const streamReply = streamsOf('anthropic');
let server: WireServer;
let provider: ModelProvider;
beforeAll(async () => {
  server = await startWireServer();
  provider = anthropic({ apiKey: 'sk-ant-test', baseURL: server.baseURL });
});
afterAll(() => server.close());
afterEach(() => vi.unstubAllEnvs());

const WEATHER = 'demo.weather.get_weather';

async function play(stream: string, change: Partial<ModelRequest> = {}) {
  server.reply(streamReply(stream));
  const completion = assemble(await partsFrom(provider, modelRequest({ model: 'claude-sonnet-5', ...change })));
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error('nothing was sent');
  return { completion, headers: request.headers, body: request.body };
}

const sent = async (change: Partial<ModelRequest>) => (await play('text', change)).body;

const call = (id: string, args = '{}', name = WEATHER) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
});
const result = (id: string, content = 'sun'): BaseMessage => ({
  role: 'tool',
  tool_call_id: id,
  tool_name: WEATHER,
  content,
});

describe('the request', () => {
  it('is a streaming one and holds nothing that was not asked for', async () => {
    const { body, headers } = await play('text');
    expect(headers.authorization ?? headers['x-api-key']).toContain('sk-ant-test');
    expect(body).toEqual({
      model: 'claude-sonnet-5',
      max_tokens: 4096,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      stream: true,
    });
  });

  it.each([
    [{}, {}, 4096],
    [{ max_output_tokens: 9000 }, {}, 9000],
    [{ max_output_tokens: 9000 }, { max_output_tokens: 700 }, 700],
  ])('always has a largest answer: %o and parameters %o are %i', async (change, parameters, limit) => {
    expect((await sent({ ...change, parameters }))['max_tokens']).toBe(limit);
  });

  it('renames the parameters that all vendors have, and passes its own on', async () => {
    const body = await sent({
      parameters: {
        stop: 'END',
        reasoning_effort: 'low',
        thinking: { type: 'adaptive' },
        temperature: 1,
        output_config: { made_up: 1 },
        stream: false,
        model: 'another',
      },
    });
    expect(body).toMatchObject({
      model: 'claude-sonnet-5',
      stream: true,
      stop_sequences: ['END'],
      output_config: { effort: 'low', made_up: 1 },
      thinking: { type: 'adaptive' },
      temperature: 1,
    });
    expect(body).not.toHaveProperty('stop');
    expect(body).not.toHaveProperty('reasoning_effort');
  });

  it.each([
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ max_output_tokens: 'many' }, 'max_output_tokens'],
  ])('is not sent with parameters that it cannot translate: %o', async (parameters, name) => {
    const before = server.requests.length;
    const { error } = await failureOf(provider, modelRequest({ parameters }));
    expect(error).toMatchObject({ code: 'model_bad_request', message: expect.stringContaining(name) });
    expect(server.requests).toHaveLength(before);
  });

  it('is not sent with a forced tool where thinking is enabled', async () => {
    const before = server.requests.length;
    const parameters = { thinking: { type: 'enabled', budget_tokens: 2000 } };
    const request = modelRequest({ tools: [tool(WEATHER)], tool_choice: 'required', parameters });
    const { error } = await failureOf(provider, request);
    expect(error).toMatchObject({ code: 'model_bad_request', message: expect.stringContaining('thinking') });
    expect(server.requests).toHaveLength(before);
  });

  it.each(['http://example.com/a.png', 'data:image/tiff;base64,AAAA', 'artefact:1'])(
    'is not sent with an image that it cannot show: %s',
    async (url) => {
      const before = server.requests.length;
      const messages: BaseMessage[] = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
      const { error } = await failureOf(provider, modelRequest({ messages }));
      expect(error).toMatchObject({ code: 'model_bad_request', provider: 'anthropic' });
      expect(server.requests).toHaveLength(before);
    },
  );
});

describe('the cache', () => {
  const marked = { cache_control: { type: 'ephemeral' } };

  it('gets a breakpoint after each system message that asks for it, and one at the end of the conversation', async () => {
    const body = await sent({
      tools: [tool(WEATHER)],
      messages: [
        { role: 'system', content: 'Be brief.', cache: true },
        { role: 'system', content: 'Today is Monday.' },
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: null, tool_calls: [call('call_1_1')] },
        result('call_1_1'),
      ],
    });
    expect(body['system']).toEqual([
      { type: 'text', text: 'Be brief.', ...marked },
      { type: 'text', text: 'Today is Monday.' },
    ]);
    expect(body['messages']).toMatchObject([{}, {}, { content: [{ type: 'tool_result', ...marked }] }]);
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(2);
  });

  it('never gets more than four, and keeps the last', async () => {
    const many = ['a', 'b', 'c', 'd', 'e'].map((content): BaseMessage => ({ role: 'system', content, cache: true }));
    const body = await sent({ messages: [...many, { role: 'user', content: 'x' }] });
    const system = body['system'] as { text: string; cache_control?: unknown }[];
    expect(system.filter((block) => block.cache_control !== undefined).map((block) => block.text)).toEqual([
      'c',
      'd',
      'e',
    ]);
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
  });

  it('is left alone where nobody asks for it', async () => {
    expect(JSON.stringify(await sent({}))).not.toContain('cache_control');
  });
});

describe('thinking', () => {
  it('goes back as it came, redacted and hidden thinking too, before the calls that it led to', async () => {
    const redacted = (await play('reasoning-redacted')).completion.messages;
    const called = (await play('reasoning-then-tool-call', { tools: [tool(WEATHER)] })).completion.messages;
    const body = await sent({
      tools: [tool(WEATHER)],
      messages: [
        { role: 'user', content: 'a' },
        ...redacted,
        { role: 'user', content: 'b' },
        ...called.map((message) =>
          message.role === 'assistant' ? { ...message, tool_calls: [call('call_1_1')] } : message,
        ),
        result('call_1_1'),
      ],
    });
    expect(body['messages']).toMatchObject([
      {},
      {
        content: [
          { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' },
          { type: 'thinking', thinking: '', signature: 'EqQBsecond' },
          { type: 'text', text: 'Done.' },
        ],
      },
      {},
      {
        content: [
          { type: 'thinking', thinking: 'I need the weather.', signature: 'EqQBbeforecall' },
          { type: 'tool_use', id: 'call_1_1' },
        ],
      },
      {},
    ]);
  });

  it('that nothing followed is left out: a turn must not end in it', async () => {
    const provider_meta = { anthropic: { signature: 's' } };
    const body = await sent({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'reasoning', content: 'Hm', provider_meta },
        { role: 'user', content: 'b' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'reasoning', content: 'Hm', provider_meta },
        { role: 'user', content: 'c' },
      ],
    });
    expect(JSON.stringify(body)).not.toContain('thinking');
    expect(body['messages']).toMatchObject([{}, {}, { content: [{ text: 'Yes.' }] }, {}]);
  });
});

describe('enabled thinking', () => {
  const parameters = { thinking: { type: 'enabled', budget_tokens: 2000 } };
  const step = (thought: BaseMessage[]): BaseMessage[] => [
    { role: 'user', content: 'x' },
    ...thought,
    { role: 'assistant', content: null, tool_calls: [call('call_1_1')] },
    result('call_1_1'),
  ];
  const own: BaseMessage = { role: 'reasoning', content: 'Hm', provider_meta: { anthropic: { signature: 's' } } };
  const foreign: BaseMessage = { role: 'reasoning', content: 'Hm', provider_meta: { gemini: {} } };

  it.each<[string, BaseMessage[], object | undefined]>([
    ['stays on where it thought about the open calls', step([own]), parameters.thinking],
    ['is off for the step in which it takes over from another vendor', step([foreign]), undefined],
    ['is off too where the user speaks in that turn', [...step([foreign]), { role: 'user', content: 'y' }], undefined],
    [
      'is on in the next turn',
      [...step([foreign]), { role: 'assistant', content: 'z' }, { role: 'user', content: 'y' }],
      parameters.thinking,
    ],
  ])('%s', async (_, messages, thinking) => {
    expect((await sent({ tools: [tool(WEATHER)], messages, parameters }))['thinking']).toEqual(thinking);
  });

  it('that is adaptive needs no such care', async () => {
    const adaptive = { thinking: { type: 'adaptive' } };
    const body = await sent({ tools: [tool(WEATHER)], messages: step([foreign]), parameters: adaptive });
    expect(body['thinking']).toEqual({ type: 'adaptive' });
  });
});

describe('the conversation', () => {
  it('holds no blank text, no id twice, and arguments that are objects', async () => {
    const body = await sent({
      tools: [tool(WEATHER)],
      messages: [
        { role: 'user', content: 'x', name: 'Zoë' },
        { role: 'assistant', content: ' \n', tool_calls: [call('turn/1:call', '{"city": "Par'), call('b', '')] },
        result('b', ''),
        result('turn/1:call'),
        { role: 'assistant', content: null, tool_calls: [call('turn/1:call', '[1]')] },
        { ...result('turn/1:call'), is_error: true } as BaseMessage,
        { role: 'system', content: 'Finish now.' },
      ],
    });
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Zoë says:' },
          { type: 'text', text: 'x' },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool_use',
            id: 'turn_1_call',
            name: 'demo-weather-get_weather',
            input: { malformed_arguments: '{"city": "Par' },
          },
          { type: 'tool_use', id: 'b', name: 'demo-weather-get_weather', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'turn_1_call', content: 'sun' },
          { type: 'tool_result', tool_use_id: 'b' },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool_use',
            id: 'turn_1_call_again2',
            name: 'demo-weather-get_weather',
            input: { malformed_arguments: '[1]' },
          },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'turn_1_call_again2', content: 'sun', is_error: true },
          { type: 'text', text: '[system] Finish now.' },
        ],
      },
    ]);
  });

  it('declares the tools of past calls where none are offered, and lets the model call none', async () => {
    const body = await sent({
      tools: [],
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        result('a'),
        result('b'),
      ],
    });
    expect(body['tools']).toMatchObject([{ name: 'demo-weather-get_weather', input_schema: { type: 'object' } }]);
    expect(body['tool_choice']).toEqual({ type: 'none' });
  });
});

describe('the stream', () => {
  it('of a call without input gives an empty object', async () => {
    const { completion } = await play('tool-call-without-input', { tools: [tool('demo.clock.current_time')] });
    expect(completion.messages).toMatchObject([
      { tool_calls: [{ function: { name: 'demo.clock.current_time', arguments: '{}' } }] },
    ]);
  });

  it.each([
    ['refusal-bare', 'refusal'],
    ['window-full', 'max_tokens'],
  ])('that ends in %s stops for %s', async (stream, reason) => {
    expect((await play(stream)).completion.stop_reason).toBe(reason);
  });

  it('with a refusal that says nothing gets words for the reader, and keeps what was said', async () => {
    expect((await play('refusal-bare')).completion.messages).toMatchObject([
      { content: 'Well' },
      { content: null, refusal: '\n\nThe model declined to answer.' },
    ]);
  });

  it('that breaks after its stop reason is a whole answer', async () => {
    const whole = streamReply('text', 'destroy');
    server.reply({ ...whole, body: whole.body.slice(0, whole.body.indexOf('event: message_stop')) });
    const completion = assemble(await partsFrom(provider, modelRequest()));
    expect(completion).toMatchObject({ stop_reason: 'end_turn', usage: { total_tokens: 1123 } });
  });

  it('whose end counts the answer only keeps what its start counted', async () => {
    const whole = streamReply('text');
    const [head = '', end = ''] = whole.body.split('event: message_delta');
    const counts = '"input_tokens":43,"cache_creation_input_tokens":50,"cache_read_input_tokens":1024,';
    expect(end).toContain(counts);
    server.reply({ ...whole, body: `${head}event: message_delta${end.replace(counts, '')}` });
    const { usage } = assemble(await partsFrom(provider, modelRequest()));
    expect(usage).toMatchObject({ input_tokens: 1117, input_cached_tokens: 1024, output_tokens: 6 });
  });

  it('with a block that the adapter does not know is an error, not an answer with a hole', async () => {
    server.reply(streamReply('unknown-block'));
    const { error } = await failureOf(provider);
    expect(error).toMatchObject({ code: 'model_server_error', message: expect.stringContaining('content_block') });
  });

  it('with an error event in it has the code of its type', async () => {
    server.reply(streamReply('error-in-stream'));
    expect((await failureOf(provider)).error).toMatchObject({ code: 'model_overloaded', http_status: undefined });
  });
});

describe('an error of the vendor', () => {
  it.each([
    [402, 'billing_error', 'model_forbidden'],
    [403, 'permission_error', 'model_forbidden'],
    [413, 'request_too_large', 'model_context_exceeded'],
    [500, 'api_error', 'model_server_error'],
    [504, 'timeout_error', 'model_timeout'],
    [503, null, 'model_overloaded'],
    [418, null, 'model_bad_request'],
  ])('%i %s is %s', async (status, type, code) => {
    const reply = errorReply(status, {});
    server.reply({ ...reply, body: JSON.stringify({ type: 'error', error: { type, message: 'No.' } }) });
    const { error } = await failureOf(provider);
    expect(error).toMatchObject({ code, http_status: status, message: expect.stringContaining('req_7') });
  });

  it('without a key is one at the call that names the variable, and works once there is one', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', undefined);
    vi.stubEnv('ANTHROPIC_AUTH_TOKEN', undefined);
    vi.stubEnv('ANTHROPIC_BASE_URL', server.baseURL);
    const fromEnvironment = anthropic();
    const { error } = await failureOf(fromEnvironment);
    expect(error).toMatchObject({ code: 'model_unauthorized', message: expect.stringContaining('ANTHROPIC_API_KEY') });

    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-environment');
    server.reply(streamReply('text'));
    await partsFrom(fromEnvironment, modelRequest());
    const { headers } = server.requests.at(-1) ?? { headers: {} };
    expect(JSON.stringify(headers)).toContain('sk-ant-environment');
  });
});
