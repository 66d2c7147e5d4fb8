/** What the vendor is sent, as it sees it on the socket. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BaseMessage, ToolCall } from '../../../contract/messages.js';
import type { ModelProvider, ModelRequest } from '../../../contract/model-provider.js';
import { openai } from '../../../providers/index.js';
import { VENDOR_NAME_PATTERN } from '../../../providers/tool-names.js';
import { failureOf, modelRequest, partsFrom, tool } from '../model-request.js';
import { startWireServer, streamsOf, type WireServer } from '../wire-server.js';

const streamReply = streamsOf('openai');
let server: WireServer;
let provider: ModelProvider;
beforeAll(async () => {
  server = await startWireServer('/v1');
  provider = openai({ apiKey: 'sk-test', baseURL: server.baseURL, organization: 'org-1' });
});
afterAll(() => server.close());

async function sent(change: Partial<ModelRequest>) {
  server.reply(streamReply('text'));
  await partsFrom(provider, modelRequest(change));
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

async function sentMessages(messages: BaseMessage[], change: Partial<ModelRequest> = {}) {
  return (await sent({ messages, ...change })).body['messages'];
}

function call(id: string, name: string, args = '{}'): ToolCall {
  return { id, type: 'function', function: { name, arguments: args }, provider_meta: { openai: { id: 'vendor' } } };
}

const WEATHER = 'demo.weather.get_weather';
const CLOCK = 'demo.clock.current_time';
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

describe('the request', () => {
  it('is a streaming one with usage, and holds nothing that was not asked for', async () => {
    const { url, headers, body } = await sent({ run_id: 'run/call_1_1', step_id: 'step_2', attempt: 3 });
    expect(url).toBe('/v1/chat/completions');
    expect(headers).toMatchObject({
      authorization: 'Bearer sk-test',
      'openai-organization': 'org-1',
      'x-client-request-id': 'run/call_1_1:step_2:3',
    });
    expect(body).toEqual({
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('passes parameters on, renames ours, and lets none change what the runtime decides', async () => {
    const { body } = await sent({
      parameters: {
        max_output_tokens: 100,
        temperature: 0.2,
        top_p: 0.9,
        reasoning_effort: 'low',
        seed: 7,
        made_up_by_a_server: { a: 1 },
        stream: false,
        model: 'another',
        stream_options: { include_obfuscation: false, include_usage: false },
      },
    });
    expect(body).toMatchObject({
      max_completion_tokens: 100,
      temperature: 0.2,
      top_p: 0.9,
      reasoning_effort: 'low',
      seed: 7,
      made_up_by_a_server: { a: 1 },
      stream: true,
      model: 'gpt-4o',
      stream_options: { include_obfuscation: false, include_usage: true },
    });
    expect(body).not.toHaveProperty('max_output_tokens');
  });

  it('offers tools under vendor-safe names, strict only where strict mode would take the schema', async () => {
    const closed = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    const open = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false };
    const { body } = await sent({
      tools: [
        tool(WEATHER, { parameters: closed, strict: true }),
        tool(CLOCK, { parameters: open, strict: true }),
        tool('demo.clock.loose', { parameters: closed }),
        tool('demo.clock.bare', { parameters: {} }),
      ],
    });
    expect(body['tools']).toEqual([
      {
        type: 'function',
        function: {
          name: 'demo-weather-get_weather',
          description: `What ${WEATHER} does`,
          parameters: closed,
          strict: true,
        },
      },
      {
        type: 'function',
        function: {
          name: 'demo-clock-current_time',
          description: `What ${CLOCK} does`,
          parameters: { ...open, properties: { city: { type: ['string', 'null'] } }, required: ['city'] },
          strict: true,
        },
      },
      {
        type: 'function',
        function: { name: 'demo-clock-loose', description: 'What demo.clock.loose does', parameters: closed },
      },
      {
        type: 'function',
        function: {
          name: 'demo-clock-bare',
          description: 'What demo.clock.bare does',
          parameters: { type: 'object', properties: {} },
        },
      },
    ]);
  });

  it.each([
    ['auto', 'auto'],
    ['required', 'required'],
    ['none', 'none'],
    [CLOCK, { type: 'function', function: { name: 'demo-clock-current_time' } }],
  ])('chooses tools in its four forms: %s', async (choice, wire) => {
    const { body } = await sent({ tools: [tool(WEATHER), tool(CLOCK)], tool_choice: choice });
    expect(body['tool_choice']).toEqual(wire);
  });

  it.each(['auto', 'none'])(
    'leaves out the choice %s where there are no tools, which OpenAI would refuse',
    async (choice) => {
      const { body } = await sent({ tool_choice: choice });
      expect(body).not.toHaveProperty('tool_choice');
      expect(body).not.toHaveProperty('tools');
    },
  );

  it.each([
    ['required', []],
    [CLOCK, [tool(WEATHER)]],
  ])('is not sent with a choice that it cannot keep: %s', async (tool_choice, tools) => {
    const before = server.requests.length;
    const { error } = await failureOf(provider, modelRequest({ tool_choice, tools }));
    expect(error.code).toBe('model_bad_request');
    expect(error.message).toContain(tool_choice);
    expect(server.requests).toHaveLength(before);
  });

  it('is not sent with a tool whose id is not canonical', async () => {
    const { error } = await failureOf(provider, modelRequest({ tools: [tool('get_weather')] }));
    expect(error).toMatchObject({ code: 'invalid_config', message: expect.stringContaining('get_weather') });
  });
});

describe('the conversation', () => {
  it('sends images and documents of users', async () => {
    const messages = await sentMessages([
      {
        role: 'user',
        name: 'Zoë the <first>',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image_url', image_url: { url: PIXEL, detail: 'low', media_type: 'image/png' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'document', source: { data: 'JVBERi0=', media_type: 'application/pdf' } },
        ],
      },
    ]);
    expect(messages).toEqual([
      {
        role: 'user',
        name: 'Zoë_the_first_',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        ],
      },
    ]);
  });

  it('puts an answer together that was cut and continued, as it is, and other messages apart', async () => {
    const said = (content: string, step_id: string): BaseMessage => ({ role: 'assistant', content, meta: { step_id } });
    const answer = [said('One tw', 'step_1'), said('o thr', 'step_2'), said('ee.', 'step_3')];
    const seeded = [said('Yes.', 'message_1'), said('No.', 'message_2')];
    const user: BaseMessage = { role: 'user', content: 'And?' };
    expect(await sentMessages([user, ...seeded, user, ...answer])).toMatchObject([
      user,
      { role: 'assistant', content: 'Yes.\n\nNo.' },
      user,
      { role: 'assistant', content: 'One two three.' },
    ]);
  });

  it('joins what one step said, without its reasoning, and lets the results follow the calls', async () => {
    const messages = await sentMessages(
      [
        { role: 'user', content: 'Weather?' },
        { role: 'reasoning', content: 'secret', provider_meta: { signature: 's' } },
        { role: 'assistant', content: 'Let me', meta: { step_id: 'step_1' } },
        { role: 'reasoning', content: 'more' },
        { role: 'assistant', content: 'look.', tool_calls: [call('call_1_1', WEATHER, '{"city": "Par')] },
        {
          role: 'tool',
          tool_call_id: 'call_1_1',
          tool_name: WEATHER,
          content: 'invalid_call: no JSON',
          is_error: true,
        },
        { role: 'assistant', content: null, tool_calls: [call('call_2_1', WEATHER), call('call_2_2', CLOCK)] },
        { role: 'tool', tool_call_id: 'call_2_1', tool_name: WEATHER, content: 'sun' },
        { role: 'tool', tool_call_id: 'call_2_2', tool_name: CLOCK, content: [{ type: 'text', text: 'noon' }] },
        { role: 'assistant', content: '' },
      ],
      { tools: [tool(WEATHER), tool(CLOCK)] },
    );
    const wireCall = (id: string, name: string, args = '{}') => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(messages).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'Let me\n\nlook.',
        tool_calls: [wireCall('call_1_1', 'demo-weather-get_weather', '{"city": "Par')],
      },
      { role: 'tool', tool_call_id: 'call_1_1', content: 'invalid_call: no JSON' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [wireCall('call_2_1', 'demo-weather-get_weather'), wireCall('call_2_2', 'demo-clock-current_time')],
      },
      { role: 'tool', tool_call_id: 'call_2_1', content: 'sun' },
      { role: 'tool', tool_call_id: 'call_2_2', content: 'noon' },
    ]);
  });

  it('sends the images of tool results in a user message after the whole batch', async () => {
    const messages = await sentMessages([
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: null, tool_calls: [call('call_1_1', 'demo.web.shot'), call('call_1_2', CLOCK)] },
      {
        role: 'tool',
        tool_call_id: 'call_1_1',
        tool_name: 'demo.web.shot',
        content: [
          { type: 'text', text: 'The page:' },
          { type: 'image_url', image_url: { url: PIXEL } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1_2', tool_name: CLOCK, content: 'noon' },
      { role: 'user', content: 'And?' },
    ]);
    expect((messages as unknown[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'call_1_1', content: 'The page:\n[image: in the next user message]' },
      { role: 'tool', tool_call_id: 'call_1_2', content: 'noon' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the result of demo-web-shot (call_1_1):' },
          { type: 'image_url', image_url: { url: PIXEL } },
        ],
      },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('sends a refusal back', async () => {
    const messages = await sentMessages([
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'user', content: 'y' },
    ]);
    expect((messages as unknown[])[1]).toEqual({ role: 'assistant', content: null, refusal: 'No.' });
  });

  it('makes the names of past calls vendor-safe, whatever a model had invented', async () => {
    const invented = ['search the web!', '', 'x'.repeat(100), 'search_the_web', 'gone.toolset.tool'];
    const messages = (await sentMessages([
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: invented.map((name, n) => call(`call_1_${n}`, name)) },
      ...invented.map((name, n): BaseMessage => ({
        role: 'tool',
        tool_call_id: `call_1_${n}`,
        tool_name: name,
        content: 'unavailable',
      })),
    ])) as { tool_calls?: { function: { name: string } }[] }[];
    const names = messages.flatMap((message) => message.tool_calls ?? []).map((each) => each.function.name);
    expect(names).toHaveLength(invented.length);
    for (const name of names) expect(name).toMatch(VENDOR_NAME_PATTERN);
    expect(new Set(names).size).toBe(names.length);
    expect(names.slice(3)).toEqual(['search_the_web', 'gone-toolset-tool']);
  });
});
