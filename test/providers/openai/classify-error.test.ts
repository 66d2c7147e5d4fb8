/** What a socket of a test cannot bring about in good time; the rest is in failures.test.ts. */
import { APIConnectionError, APIConnectionTimeoutError } from 'openai';
import { describe, expect, it } from 'vitest';
import { classifyError } from '../../../providers/openai/classify-error.js';
import { retryAfterMs } from '../../../providers/retry-after.js';

function broken(message: string, code: string): TypeError {
  return new TypeError(message, { cause: Object.assign(new Error(code), { code }) });
}

describe('an error of the SDK', () => {
  it.each([
    ['the SDK’s own timeout', new APIConnectionTimeoutError(), 'request', 'model_timeout'],
    [
      'no headers in time',
      new APIConnectionError({ cause: broken('fetch failed', 'UND_ERR_HEADERS_TIMEOUT') }),
      'request',
      'model_timeout',
    ],
    [
      'an unknown host',
      new APIConnectionError({ cause: broken('fetch failed', 'ENOTFOUND') }),
      'request',
      'model_network',
    ],
    ['silence in the middle', broken('terminated', 'UND_ERR_BODY_TIMEOUT'), 'stream', 'model_timeout'],
    ['a socket that closed', broken('terminated', 'UND_ERR_SOCKET'), 'stream', 'model_stream_cut'],
    ['a request that could not be made', new TypeError('cyclic object value'), 'request', 'internal'],
    ['what is no error at all', 'oops', 'stream', 'model_stream_cut'],
  ] as const)('for %s has its code', (_, error, phase, code) => {
    const classified = classifyError(error, {
      model: 'gpt-4o',
      origin: 'https://api.example.com',
      phase,
      secrets: [],
    });
    expect(classified).toMatchObject({ code, provider: 'openai', http_status: undefined });
    expect(classified.message).toContain('gpt-4o at https://api.example.com');
  });
});

describe('retry-after', () => {
  it.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after-ms': '0', 'retry-after': '9' }, 0],
    [{ 'retry-after-ms': 'x', 'retry-after': '9' }, 9000],
    [{ 'retry-after': '-1' }, 0],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:05 GMT' }, 4000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    [{ 'retry-after': '' }, undefined],
  ])('%o is %s ms', (headers, milliseconds) => {
    expect(retryAfterMs(new Headers(headers), 1000)).toBe(milliseconds);
  });
});
