/** The key of a request is in no error that it ends with, whatever the vendor repeats, nor in the error's causes. */
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import type { ModelProvider } from '../../contract/model-provider.js';
import { anthropic, gemini, openai } from '../../providers/index.js';
import { scrubSecrets } from '../../contract/scrub-secrets.js';
import { failureOf, modelRequest } from './model-request.js';
import { errorReply, startWireServer, type WireReply, type WireServer } from './wire-server.js';

const CANARY = 'zq9-Canary_77/KEY+value~ofThisWorker';
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** What an error of a vendor may say. */
const LEAKS: [string, string][] = [
  ['as it is', `Incorrect API key provided: ${CANARY}.`],
  ['in a header that is repeated', `authorization: Bearer ${CANARY}\nx-api-key: ${CANARY}`],
  ['in an address', `GET https://api.example/v1?key=${encodeURIComponent(CANARY)}&alt=sse failed`],
  ['in base64', `token ${base64(CANARY)} is unknown`],
  ['in base64 of a user and a password', `Basic ${base64(`user:${CANARY}`)}`],
  ['in base64 of a whole header', `raw ${base64(`x: Bearer ${CANARY}; y`)}`],
  ['in base64url', `jwt ${Buffer.from(`{"k":"${CANARY}"}`).toString('base64url')}`],
  ['in hex', `0x${Buffer.from(CANARY).toString('hex')}`],
  ['as JSON', JSON.stringify({ headers: { authorization: `Bearer ${CANARY}` } })],
  ['masked', `Incorrect API key provided: ${CANARY.slice(0, 9)}****************${CANARY.slice(-4)}`],
  ['cut', `key ${CANARY.slice(0, 12)} is unknown`],
  ['cut at its beginning', `key ${CANARY.slice(-9)} is unknown`],
  ['a piece from its middle', `near "${CANARY.slice(11, 20)}"`],
  ['in pieces', `${CANARY.slice(0, 13)} ${CANARY.slice(13, 26)}\n${CANARY.slice(26)}`],
  ['a little, masked', `key ${CANARY.slice(0, 4)}****, ${CANARY.slice(0, 3)}…${CANARY.slice(-3)}`],
  ['in other letters', `KEY ${CANARY.toUpperCase()} or ${CANARY.toLowerCase()}`],
  ['a piece of its base64', `token ${base64(`x:${CANARY}`).slice(8, 24)}`],
  ['its end only', `key ending in ***${CANARY.slice(-4)} is revoked`],
];

/** Every stretch of eight characters of the key and of its encodings. */
const FORMS = [
  CANARY,
  encodeURIComponent(CANARY),
  Buffer.from(CANARY).toString('hex'),
  // Wherever it begins in what was encoded.
  ...['', 'x', 'xx'].map((before) => base64(before + CANARY).slice(4, -4)),
];
const PIECES = FORMS.flatMap((form) => Array.from({ length: form.length - 7 }, (_, at) => form.slice(at, at + 8)));

function expectClean(error: Error): void {
  const stored = JSON.stringify(defaultFailureConverter.errorToFailure(error, defaultPayloadConverter));
  for (const text of [error.message, inspect(error, { depth: 10, showHidden: true }), stored]) {
    expect(PIECES.filter((piece) => text.toLowerCase().includes(piece.toLowerCase()))).toEqual([]);
    expect(text).not.toMatch(
      new RegExp(`[*.]${CANARY.slice(-4)}|…${CANARY.slice(-3)}|${CANARY.slice(0, 3)}.{0,2}[*…]`),
    );
  }
}

interface Vendor {
  name: string;
  path: string;
  connect(baseURL: string, apiKey: string): ModelProvider;
  error(status: number, message: string, headers?: Record<string, string>): WireReply;
  inStream(message: string): string;
}

const VENDORS: Vendor[] = [
  {
    name: 'openai',
    path: '/v1',
    connect: (baseURL, apiKey) => openai({ baseURL, apiKey }),
    error: (status, message, headers) => errorReply(status, { message, type: 'invalid_request_error' }, headers),
    inStream: (message) => `data: ${JSON.stringify({ error: { message, type: 'server_error' } })}\n\n`,
  },
  {
    name: 'anthropic',
    path: '',
    connect: (baseURL, apiKey) => anthropic({ baseURL, apiKey }),
    error: (status, message, headers) => ({
      ...errorReply(status, {}, headers),
      body: JSON.stringify({ type: 'error', error: { type: 'authentication_error', message }, request_id: 'req_7' }),
    }),
    inStream: (message) =>
      `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message } })}\n\n`,
  },
  {
    name: 'gemini',
    path: '',
    connect: (baseURL, apiKey) => gemini({ baseURL, apiKey }),
    error: (status, message, headers) =>
      errorReply(status, { code: status, message, status: 'INVALID_ARGUMENT' }, headers),
    inStream: (message) => `data: ${JSON.stringify({ error: { code: 500, message, status: 'INTERNAL' } })}\n\n`,
  },
];

describe.each(VENDORS)('an error of $name', ({ path, connect, error: errorOf, inStream }) => {
  let server: WireServer;
  let provider: ModelProvider;
  beforeAll(async () => {
    server = await startWireServer(path);
    provider = connect(server.baseURL, CANARY);
  });
  afterAll(() => server.close());

  it.each(LEAKS)('does not repeat the key %s', async (_how, message) => {
    for (const reply of [
      errorOf(401, message),
      errorOf(500, `${'x'.repeat(1_490)}${message}`),
      { ...errorOf(400, ''), body: message },
      { headers: { 'content-type': 'text/event-stream' }, body: inStream(message) },
    ]) {
      server.reply(reply);
      const { error } = await failureOf(provider, modelRequest());
      expect(error.message).toMatch(/answered|stream|request/);
      expectClean(error);
    }
  });

  it('does not repeat the key that a header of the answer holds', async () => {
    const headers = { 'x-request-id': `req-${CANARY}`, 'request-id': `req-${CANARY}`, 'x-echo': CANARY };
    server.reply(errorOf(429, 'slow down', headers));
    expectClean((await failureOf(provider, modelRequest())).error);
  });

  it('does not repeat a key that cannot be sent', async () => {
    const { error } = await failureOf(connect(server.baseURL, `${CANARY}\nmore`), modelRequest());
    expectClean(error);
  });
});

describe('a text', () => {
  it('stays as it is where the key is too short to be one', () => {
    expect(scrubSecrets('the model test is unknown', ['test', 'x', ''])).toBe('the model test is unknown');
  });

  it('keeps what is not the key', () => {
    expect(scrubSecrets(`no such model "gpt-4o" for ${CANARY}, try another`, [CANARY])).toBe(
      'no such model "gpt-4o" for [hidden], try another',
    );
  });

  it('keeps words that stand alone in a key, and say what it is for', () => {
    const key = 'anthropic-development-x7Kq2';
    expect(scrubSecrets('the development server of anthropic refuses', [key])).toBe(
      'the development server of anthropic refuses',
    );
    expect(scrubSecrets('the development server', ['development'])).toBe('the [hidden] server');
    expect(scrubSecrets(`refuses ${key}, and pment-x7K`, [key])).toBe('refuses [hidden], and [hidden]');
  });

  it('holds no six characters of a short key, wherever they are from', () => {
    const key = 'Q4r-Zt8_Wx2';
    for (let at = 0; at + 6 <= key.length; at += 1) {
      expect(scrubSecrets(`key "${key.slice(at, at + 6)}"`, [key])).toBe('key "[hidden]"');
    }
  });

  it('never holds the key in base64, whatever stands around it', () => {
    const any = fc.string({ unit: 'binary', maxLength: 20 });
    fc.assert(
      fc.property(any, any, fc.constantFrom<'base64' | 'base64url'>('base64', 'base64url'), (before, after, way) => {
        const text = Buffer.from(`${before}${CANARY}${after}`).toString(way);
        expect(scrubSecrets(`<${text}>`, [CANARY])).toBe('<[hidden]>');
      }),
    );
  });

  it('is scrubbed in no time, however it is made', () => {
    const began = performance.now();
    scrubSecrets('A'.repeat(5_000_000), [CANARY]);
    scrubSecrets(`${CANARY.slice(0, 8)} `.repeat(500_000), [CANARY]);
    // What goes back over the text for each piece of it takes hours.
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});
