/** What the vendor and the network do wrong, over a real socket: the code decides about the retry. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../../contract/errors.js';
import type { ModelProvider } from '../../../contract/model-provider.js';
import { openai } from '../../../providers/index.js';
import { failureOf, modelRequest, partsFrom } from '../model-request.js';
import { errorReply, startWireServer, streamsOf, type WireServer } from '../wire-server.js';

const streamReply = streamsOf('openai');
let server: WireServer;
let provider: ModelProvider;
beforeAll(async () => {
  server = await startWireServer('/v1');
  provider = openai({ apiKey: 'sk-test', baseURL: server.baseURL });
});
afterAll(() => server.close());
afterEach(() => vi.unstubAllEnvs());

const LIMITED = { message: 'Rate limit reached for gpt-4o', type: 'tokens', param: null, code: 'rate_limit_exceeded' };
const SERVER = { message: 'The server had an error', type: 'server_error', param: null, code: null };
const BROKE = {
  message: 'You exceeded your current quota, please check your plan and billing details.',
  type: 'insufficient_quota',
  param: null,
  code: 'insufficient_quota',
};
const TOO_LONG = {
  message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
  type: 'invalid_request_error',
  param: 'messages',
  code: 'context_length_exceeded',
};
const INVALID = { message: 'Invalid value', type: 'invalid_request_error', param: 'temperature', code: null };
const BAD_KEY = {
  message: 'Incorrect API key provided: sk-abcd****************wxyz.',
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_api_key',
};

describe('an answer of the vendor becomes an error with its status, once, without a retry of the SDK', () => {
  it.each([
    [400, INVALID, {}, 'model_bad_request', false],
    [400, TOO_LONG, {}, 'model_context_exceeded', false],
    [400, { message: "the request exceeds the model's context window" }, {}, 'model_context_exceeded', false],
    [401, BAD_KEY, {}, 'model_unauthorized', false],
    [403, { message: 'Country not supported' }, {}, 'model_forbidden', false],
    [404, { message: 'The model does not exist', code: 'model_not_found' }, {}, 'model_not_found', false],
    [408, SERVER, {}, 'model_timeout', true],
    [409, SERVER, {}, 'model_server_error', true],
    [413, { message: 'Payload too large' }, {}, 'model_context_exceeded', false],
    [422, INVALID, {}, 'model_bad_request', false],
    [429, LIMITED, {}, 'model_rate_limited', true],
    [429, BROKE, {}, 'model_forbidden', false],
    [429, BROKE, { 'x-should-retry': 'true', 'retry-after': '1' }, 'model_forbidden', false],
    [429, LIMITED, { 'x-should-retry': 'false' }, 'model_forbidden', false],
    [500, SERVER, {}, 'model_server_error', true],
    [500, SERVER, { 'x-should-retry': 'false' }, 'model_bad_request', false],
    [404, { message: 'warming up' }, { 'x-should-retry': 'true' }, 'model_server_error', true],
    [502, SERVER, {}, 'model_server_error', true],
    [503, SERVER, {}, 'model_overloaded', true],
    [504, SERVER, {}, 'model_timeout', true],
    [520, SERVER, {}, 'model_server_error', true],
    [418, INVALID, {}, 'model_bad_request', false],
  ])('%i %o %o is %s, retried: %s', async (status, body, headers, code, retried) => {
    const before = server.requests.length;
    server.reply(errorReply(status, body, headers));
    const { error, parts } = await failureOf(provider);
    expect(error).toMatchObject({ code, http_status: status, provider: 'openai' });
    expect(ERRORS[error.code].retry).toBe(retried);
    expect(error.message).toContain('gpt-4o');
    expect(error.message).toContain('req_7');
    expect(parts).toEqual([]);
    expect(server.requests).toHaveLength(before + 1);
  });

  it('never repeats a key', async () => {
    server.reply(errorReply(401, BAD_KEY));
    const { error } = await failureOf(provider);
    expect(error.message).toContain('Incorrect API key provided: sk-…');
    expect(error.message).not.toContain('wxyz');
  });

  it.each([
    [{ 'retry-after-ms': '350', 'retry-after': '1' }, 350],
    [{ 'retry-after': '20' }, 20_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('keeps how long the vendor asks to wait: %o is %s ms', async (headers, milliseconds) => {
    server.reply(errorReply(429, LIMITED, headers));
    expect((await failureOf(provider)).error.retry_after_ms).toBe(milliseconds);
  });

  it('reads a retry-after that is a date', async () => {
    server.reply(errorReply(503, SERVER, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }));
    const { retry_after_ms: wait = 0 } = (await failureOf(provider)).error;
    expect(wait).toBeGreaterThan(50_000);
    expect(wait).toBeLessThanOrEqual(60_000);
  });
});

describe('a stream', () => {
  it('whose socket is destroyed in the middle is cut, after what had been said', async () => {
    server.reply(streamReply('no-finish', 'destroy'));
    const { error, parts } = await failureOf(provider);
    expect(error.code).toBe('model_stream_cut');
    expect(parts).toEqual([
      { type: 'text', delta: 'Half an' },
      { type: 'text', delta: ' ans' },
    ]);
  });

  it('that ends properly but without a finish_reason is cut', async () => {
    server.reply(streamReply('no-finish'));
    const { error, parts } = await failureOf(provider);
    expect(error.code).toBe('model_stream_cut');
    expect(parts).toHaveLength(2);
  });

  it('that stops in the middle of a line is cut', async () => {
    const reply = streamReply('text');
    server.reply({ ...reply, body: reply.body.slice(0, reply.body.indexOf(' Zoë')) });
    expect((await failureOf(provider)).error.code).toBe('model_stream_cut');
  });

  it('that holds no JSON is cut', async () => {
    server.reply({ ...streamReply('text'), body: 'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: oops\n\n' });
    expect((await failureOf(provider)).error.code).toBe('model_stream_cut');
  });

  it.each(['', 'data: [DONE]\n\n', ': ping\n\n'])('without anything in it (%j) is empty', async (body) => {
    server.reply({ ...streamReply('text'), body });
    expect((await failureOf(provider)).error.code).toBe('model_stream_empty');
  });

  it('that finishes without having said anything is empty', async () => {
    server.reply(streamReply('empty'));
    const { error, parts } = await failureOf(provider);
    expect(error.code).toBe('model_stream_empty');
    expect(parts).toEqual([]);
  });

  it.each([
    ['error-in-stream', 'model_server_error'],
    ['error-in-stream-rate-limit', 'model_rate_limited'],
  ])('with an error object in it (%s) fails as %s, after what had been said', async (stream, code) => {
    server.reply(streamReply(stream));
    const { error, parts } = await failureOf(provider);
    expect(error.code).toBe(code);
    expect(parts).toEqual([{ type: 'text', delta: 'Half' }]);
  });

  it('with a status in the code of its error object fails as that status would', async () => {
    const body = 'data: {"error":{"code":503,"message":"Provider is overloaded"},"choices":[]}\n\n';
    server.reply({ ...streamReply('text'), body });
    expect((await failureOf(provider)).error).toMatchObject({ code: 'model_overloaded', http_status: 503 });
  });

  it('that is no Chat Completions stream says so', async () => {
    server.reply({ ...streamReply('text'), body: 'data: {"choices":"none"}\n\n' });
    const { error } = await failureOf(provider);
    expect(error).toMatchObject({ code: 'model_server_error', message: expect.stringContaining('choices') });
  });
});

describe('a vendor that cannot be called', () => {
  it('is a network error that names the address', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await new Promise((resolve) => other.close(resolve));
    const { error } = await failureOf(openai({ apiKey: 'sk-test', baseURL: `http://127.0.0.1:${port}/v1` }));
    expect(error.code).toBe('model_network');
    expect(error.message).toContain(`http://127.0.0.1:${port}`);
    expect(error.message).toContain('ECONNREFUSED');
  });

  it('without a key is an error at the call that names the variable, and works once there is one', async () => {
    vi.stubEnv('OPENAI_API_KEY', undefined);
    vi.stubEnv('OPENAI_ADMIN_KEY', undefined);
    vi.stubEnv('OPENAI_BASE_URL', server.baseURL);
    const fromEnvironment = openai();
    const { error } = await failureOf(fromEnvironment);
    expect(error).toMatchObject({ code: 'model_unauthorized', message: expect.stringContaining('OPENAI_API_KEY') });

    vi.stubEnv('OPENAI_ADMIN_KEY', 'sk-admin');
    expect((await failureOf(fromEnvironment)).error.code).toBe('model_unauthorized');

    vi.stubEnv('OPENAI_API_KEY', 'sk-environment');
    server.reply(streamReply('text'));
    await partsFrom(fromEnvironment, modelRequest());
    expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer sk-environment');
  });
});
