/** What only Gemini has, on a socket; what all vendors share is in behaviour.test.ts. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../../contract/errors.js';
import type { BaseMessage } from '../../../contract/messages.js';
import type { ModelProvider, ModelRequest } from '../../../contract/model-provider.js';
import { gemini } from '../../../providers/index.js';
import { assemble, failureOf, modelRequest, partsFrom, tool } from '../model-request.js';
import { errorReply, startWireServer, streamsOf, type WireServer } from '../wire-server.js';

const streamReply = streamsOf('gemini');
let server: WireServer;
let provider: ModelProvider;
beforeAll(async () => {
  server = await startWireServer();
  provider = gemini({ apiKey: 'AIza-test', baseURL: server.baseURL });
});
afterAll(() => server.close());
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const WEATHER = 'demo.weather.get_weather';
const TOOLS = [tool(WEATHER)];

async function play(stream: string, change: Partial<ModelRequest> = {}) {
  server.reply(streamReply(stream));
  const completion = assemble(await partsFrom(provider, modelRequest({ model: 'gemini-3-pro', ...change })));
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error('nothing was sent');
  return { completion, headers: request.headers, body: request.body };
}

const sent = async (change: Partial<ModelRequest>) => (await play('text', change)).body;

/** As the runtime commits it: with ids of its own and a result for each call. */
function committed(said: BaseMessage[]): BaseMessage[] {
  let n = 0;
  const messages = said.map((message) =>
    message.role === 'assistant' && message.tool_calls !== undefined
      ? { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: `call_1_${++n}` })) }
      : message,
  );
  const ids = Array.from({ length: n }, (_, index) => `call_1_${index + 1}`);
  return [
    ...messages,
    ...ids.map((id): BaseMessage => ({ role: 'tool', tool_call_id: id, tool_name: WEATHER, content: `of ${id}` })),
  ];
}

describe('the request', () => {
  it('holds nothing that was not asked for', async () => {
    const { body, headers } = await play('text');
    expect(headers['x-goog-api-key']).toBe('AIza-test');
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      systemInstruction: { role: 'user', parts: [{ text: 'Be brief.' }] },
      generationConfig: {},
    });
  });

  it('renames the parameters that all vendors have, and passes its own on', async () => {
    const body = await sent({
      parameters: {
        max_output_tokens: 100,
        temperature: 0.2,
        top_p: 0.9,
        top_k: 3,
        stop: ['END'],
        reasoning_effort: 'low',
        thinkingConfig: { includeThoughts: true },
        seed: 7,
        safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      },
    });
    expect(body).toMatchObject({
      generationConfig: {
        maxOutputTokens: 100,
        temperature: 0.2,
        topP: 0.9,
        topK: 3,
        stopSequences: ['END'],
        thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' },
        seed: 7,
      },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    });
  });

  it.each([
    [{ made_up: 1, temperature: 1 }, 'made_up'],
    [{ tools: [] }, 'tools'],
    [{ abortSignal: 1 }, 'abortSignal'],
  ])('is not sent with a parameter that the SDK would leave out: %o', async (parameters, name) => {
    const before = server.requests.length;
    const { error } = await failureOf(provider, modelRequest({ parameters }));
    expect(error).toMatchObject({ code: 'model_bad_request', message: expect.stringContaining(`no ${name}`) });
    expect(server.requests).toHaveLength(before);
  });

  it('is not sent with an address of an image whose type nobody says', async () => {
    const image = (image_url: { url: string; media_type?: 'image/webp' }): BaseMessage => ({
      role: 'user',
      content: [{ type: 'image_url', image_url }],
    });
    const url = 'https://example.com/picture?id=4';
    const { error } = await failureOf(provider, modelRequest({ messages: [image({ url })] }));
    expect(error).toMatchObject({ code: 'model_bad_request', message: expect.stringContaining('media_type') });
    const body = await sent({ messages: [image({ url, media_type: 'image/webp' })] });
    expect(body['contents']).toMatchObject([{ parts: [{ fileData: { fileUri: url, mimeType: 'image/webp' } }] }]);
  });

  it('leaves out what its schemas do not have', async () => {
    const parameters = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: {} };
    const body = await sent({ tools: [tool(WEATHER, { parameters })] });
    expect(body['tools']).toMatchObject([
      { functionDeclarations: [{ parametersJsonSchema: { type: 'object', properties: {} } }] },
    ]);
    expect(JSON.stringify(body)).not.toContain('$schema');
  });
});

describe('signatures of thoughts', () => {
  it('of calls go back with the call, and calls without ids stay without', async () => {
    const { completion } = await play('tool-calls-without-ids', { tools: TOOLS, model: 'gemini-2.5-flash' });
    const body = await sent({
      tools: TOOLS,
      model: 'gemini-2.5-flash',
      messages: [{ role: 'user', content: 'x' }, ...committed(completion.messages)],
    });
    const name = 'demo-weather-get_weather';
    expect(body['contents']).toEqual([
      { role: 'user', parts: [{ text: 'x' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { name, args: { city: 'Paris' } } },
          { functionCall: { name, args: { city: 'Oslo' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name, response: { output: 'of call_1_1' } } },
          { functionResponse: { name, response: { output: 'of call_1_2' } } },
        ],
      },
    ]);
  });

  it('of thoughts and of text go back in their part', async () => {
    const { completion } = await play('reasoning-signed');
    expect(completion.messages[0]).toMatchObject({ role: 'reasoning', content: 'Hm.' });
    const body = await sent({
      messages: [{ role: 'user', content: 'x' }, ...completion.messages, { role: 'user', content: 'y' }],
    });
    expect(body['contents']).toMatchObject([
      {},
      { parts: [{ text: 'Hm.', thought: true, thoughtSignature: 'EvEFthought' }, { text: 'Done.' }] },
      {},
    ]);
  });

  it.each([
    ['gemini-2.5-pro', undefined],
    ['gemini-3-flash', 'skip_thought_signature_validator'],
    ['gemini-flash-latest', 'skip_thought_signature_validator'],
  ])('that a foreign call does not have: %s is told %s', async (model, signature) => {
    const foreign: BaseMessage = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: '', type: 'function', function: { name: WEATHER, arguments: '{}' } }],
    };
    const body = await sent({
      tools: TOOLS,
      model,
      messages: [{ role: 'user', content: 'x' }, ...committed([foreign])],
    });
    const [, said] = body['contents'] as { parts: { thoughtSignature?: string }[] }[];
    expect(said?.parts[0]?.thoughtSignature).toBe(signature);
  });
});

describe('the stream', () => {
  it('tells the tokens of images', async () => {
    const { completion } = await play('image-tokens');
    expect(completion.usage).toMatchObject({ input_tokens: 265, input_image_tokens: 258, input_cached_tokens: null });
  });

  it('of a prompt that was blocked is a refusal', async () => {
    const { completion } = await play('blocked-prompt');
    expect(completion).toMatchObject({
      messages: [{ content: null, refusal: 'The model declined to answer (PROHIBITED_CONTENT).' }],
      stop_reason: 'refusal',
      usage: { input_tokens: 43, output_tokens: 0 },
      provider_meta: { gemini: { block_reason: 'PROHIBITED_CONTENT' } },
    });
  });

  it.each([
    ['STOP', 'end_turn'],
    ['MAX_TOKENS', 'max_tokens'],
    ['CONTINUATION', 'max_tokens'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['OTHER', 'end_turn'],
  ])('that said something and ends with %s stops for %s', async (finish, reason) => {
    const whole = streamReply('length');
    server.reply({ ...whole, body: whole.body.replace('MAX_TOKENS', finish) });
    const completion = assemble(await partsFrom(provider, modelRequest()));
    expect(completion).toMatchObject({ stop_reason: reason, messages: [{ content: 'Once upon' }] });
    expect(completion.provider_meta).toMatchObject({ gemini: { finish_reason: finish } });
  });

  it.each([
    ['SAFETY', 'refusal', 1],
    ['SPII', 'refusal', 1],
    ['RECITATION', 'content_filter', 0],
    ['MAX_TOKENS', 'max_tokens', 0],
  ])('that said nothing and ends with %s stops for %s', async (finish, reason, messages) => {
    const whole = streamReply('refusal');
    server.reply({ ...whole, body: whole.body.replace('PROHIBITED_CONTENT', finish) });
    const completion = assemble(await partsFrom(provider, modelRequest()));
    expect(completion.stop_reason).toBe(reason);
    expect(completion.messages).toHaveLength(messages);
  });

  it.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'])('that ends with %s is tried again', async (finish) => {
    const whole = streamReply('malformed-call');
    server.reply({ ...whole, body: whole.body.replace('MALFORMED_FUNCTION_CALL', finish) });
    const { error } = await failureOf(provider);
    expect(error).toMatchObject({ code: 'model_server_error', message: expect.stringContaining(finish) });
    expect(ERRORS[error.code].retry).toBe(true);
  });

  it('that holds a signature and no word is empty', async () => {
    const whole = streamReply('empty');
    server.reply({ ...whole, body: whole.body.replace('"text": ""', '"text": "", "thoughtSignature": "EvEF"') });
    expect((await failureOf(provider)).error.code).toBe('model_stream_empty');
  });

  it('with an error object in it fails as its code would', async () => {
    server.reply(streamReply('error-in-stream'));
    expect((await failureOf(provider)).error).toMatchObject({ code: 'model_overloaded', http_status: 503 });
  });

  it('that is no generateContent stream says so', async () => {
    server.reply({ ...streamReply('text'), body: 'data: {"candidates":[{"content":{"parts":"none"}}]}\n\n' });
    const { error } = await failureOf(provider);
    expect(error).toMatchObject({ code: 'model_server_error', message: expect.stringContaining('parts') });
  });
});

describe('an error of the vendor', () => {
  it.each([
    [403, 'PERMISSION_DENIED', 'model_forbidden'],
    [500, 'INTERNAL', 'model_server_error'],
    [504, 'DEADLINE_EXCEEDED', 'model_timeout'],
    [418, 'TEAPOT', 'model_bad_request'],
  ])('%i %s is %s', async (code, status, expected) => {
    server.reply(errorReply(code, { code, status, message: 'No.' }));
    const { error } = await failureOf(provider);
    expect(error).toMatchObject({ code: expected, http_status: code, message: expect.stringContaining('No.') });
  });

  it('that is a page of a proxy is told by its status', async () => {
    server.reply({ status: 502, headers: { 'content-type': 'text/html' }, body: '<html>Bad gateway</html>' });
    expect((await failureOf(provider)).error).toMatchObject({ code: 'model_server_error', http_status: 502 });
  });

  it('without a key is one at the call that names the variables, and works once there is one', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    vi.stubEnv('GOOGLE_API_KEY', undefined);
    vi.stubEnv('GEMINI_API_KEY', undefined);
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', server.baseURL);
    const fromEnvironment = gemini();
    const { error } = await failureOf(fromEnvironment);
    expect(error).toMatchObject({ code: 'model_unauthorized', message: expect.stringContaining('GEMINI_API_KEY') });

    vi.stubEnv('GEMINI_API_KEY', 'AIza-environment');
    server.reply(streamReply('text'));
    await partsFrom(fromEnvironment, modelRequest());
    expect(server.requests.at(-1)?.headers['x-goog-api-key']).toBe('AIza-environment');
  });
});
