/** Size, time, decompression, kinds of content and broken replies, over real sockets. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFetchPage } from '../../../tools/web/fetch/fetch-page.js';
import type { FetchOptions } from '../../../tools/web/fetch/fetch-page.js';
import { reply, startSite } from './site.js';
import type { Answer, Site } from './site.js';

let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site.end());

const get = (path: string, options: FetchOptions = {}, signal = new AbortController().signal) =>
  createFetchPage({ allow_private_addresses: true, ...options })(`${site.origin}${path}`, signal);
const ENCODERS = { gzip: gzipSync, 'x-gzip': gzipSync, br: brotliCompressSync, deflate: deflateSync };

describe('compressed replies', () => {
  const text = 'Some words, some more words. '.repeat(100);
  it.each(Object.entries(ENCODERS))('are read in %s', async (encoding, encode) => {
    site.answer('/packed', reply(encode(Buffer.from(text)), 'text/plain', { 'content-encoding': encoding }));
    expect((await get('/packed')).bytes.toString()).toBe(text);
  });

  it('are read in deflate without its header', async () => {
    site.answer('/bare', reply(deflateRawSync(text), 'text/plain', { 'content-encoding': 'deflate' }));
    expect((await get('/bare')).bytes.toString()).toBe(text);
  });

  it.each(Object.entries(ENCODERS))('that grow beyond the limit are refused in %s', async (encoding, encode) => {
    const bomb = encode(Buffer.alloc(64 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(1024 * 1024);
    site.answer('/bomb', reply(bomb, 'text/plain', { 'content-encoding': encoding }));
    await expect(get('/bomb')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/when decompressed/),
    });
  });

  it('that grow out of all proportion are refused below the limit of size', async () => {
    const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024));
    site.answer('/ratio', reply(bomb, 'text/plain', { 'content-encoding': 'gzip' }));
    await expect(get('/ratio')).rejects.toMatchObject({ message: expect.stringMatching(/when decompressed/) });
  });

  it.each([
    ['damaged', 'gzip', gzipSync(text).subarray(0, 40)],
    ['in an encoding nobody asked for', 'zstd', Buffer.from(text)],
    ['compressed twice', 'gzip, gzip', gzipSync(gzipSync(text))],
  ])('%s are refused', async (_what, encoding, body) => {
    site.answer('/odd', reply(body, 'text/plain', { 'content-encoding': encoding }));
    await expect(get('/odd')).rejects.toMatchObject({ name: 'ToolError', kind: 'unavailable' });
  });
});

describe('a reply that is too large', () => {
  it('is refused by what it says', async () => {
    let written = 0;
    site.answer('/says', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '5000' });
      written = response.write('x') ? 1 : 0;
    });
    await expect(get('/says', { max_bytes: 4_999 })).rejects.toMatchObject({
      message: expect.stringMatching(/larger than 4999 bytes/),
    });
    expect(written).toBe(1);
  });

  it('is refused by what it sends, without an end', async () => {
    let sent = 0;
    site.answer('/endless', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const more = () => {
        do sent += 16_384;
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    });
    await expect(get('/endless', { max_bytes: 100_000 })).rejects.toMatchObject({
      message: expect.stringMatching(/larger than 100000/),
    });
    // What the sockets' buffers hold beyond the limit, and no more.
    expect(sent).toBeLessThan(20_000_000);
  });
});

describe('a server that takes its time', () => {
  it('never sends headers', async () => {
    site.answer('/mute', () => undefined);
    await expect(get('/mute', { idle_timeout: 300 })).rejects.toMatchObject({ kind: 'timeout', retryable: true });
  });

  it('stops in the middle', async () => {
    site.answer('/stuck', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('half');
    });
    await expect(get('/stuck', { idle_timeout: 300 })).rejects.toMatchObject({ kind: 'timeout' });
  });

  it('drips for ever, each drop in time', async () => {
    site.answer('/drip', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    await expect(get('/drip', { timeout: 500 })).rejects.toMatchObject({
      kind: 'timeout',
      message: expect.stringMatching(/500 ms/),
    });
  });

  it('accepts no connection', async () => {
    const { REAL_NETWORK } = await import('../../../tools/web/fetch/guarded-connector.js');
    const { Socket } = await import('node:net');
    const never = { ...REAL_NETWORK, dial: () => new Socket() };
    const going = createFetchPage({ connect_timeout: 100 }, never)(
      'http://93.184.216.34/',
      new AbortController().signal,
    );
    await expect(going).rejects.toMatchObject({
      kind: 'timeout',
      message: expect.stringMatching(/accept a connection/),
    });
  });

  it('is left when the call is canceled', async () => {
    const controller = new AbortController();
    const closed = new Promise<void>((resolve) => {
      site.answer('/wait', (_request, response) => {
        response.on('close', () => resolve());
        controller.abort();
      });
    });
    await expect(get('/wait', {}, controller.signal)).rejects.toMatchObject({ name: 'AbortError' });
    await closed;
  });
});

describe('what a reply is', () => {
  it.each([
    ['text/html', 'html', undefined],
    ['TEXT/HTML; Charset="ISO-8859-1"', 'html', 'ISO-8859-1'],
    ['application/xhtml+xml', 'html', undefined],
    ['text/plain; charset=utf-8', 'text', 'utf-8'],
    ['text/markdown', 'markdown', undefined],
    ['application/ld+json', 'json', undefined],
    ['application/rss+xml', 'xml', undefined],
  ])('%s is read as %s', async (type, format, charset) => {
    site.answer('/typed', reply('words', type));
    const page = await get('/typed');
    expect([page.format, page.charset]).toEqual([format, charset]);
  });

  it.each([['application/pdf'], ['image/svg+xml'], ['image/png'], ['application/octet-stream'], ['text/css'], ['']])(
    '%s is refused with the reason',
    async (type) => {
      site.answer('/typed', reply('words', type));
      await expect(get('/typed')).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringMatching(/Only HTML, plain text/),
      });
    },
  );

  it.each([
    [404, 'unavailable', false],
    [403, 'denied', false],
    [429, 'rate_limited', true],
    [500, 'unavailable', true],
    [304, 'unavailable', false],
  ])('a status %i is %s', async (status, kind, retryable) => {
    const answer: Answer = (_request, response) => void response.writeHead(status).end();
    site.answer('/status', answer);
    await expect(get('/status')).rejects.toMatchObject({
      kind,
      retryable,
      message: expect.stringMatching(new RegExp(`${status}`)),
    });
  });

  it('a redirect to nowhere is said', async () => {
    site.answer('/nowhere', (_request, response) => void response.writeHead(302).end());
    await expect(get('/nowhere')).rejects.toMatchObject({ message: expect.stringMatching(/names no location/) });
  });

  it.each([
    ['nothing at all', ''],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['a body that is cut', 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 50\r\n\r\nhalf'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x-more: words\r\n'.repeat(5_000)}\r\n`],
  ])('a server that answers with %s is a failure of the tool, not a crash', async (_what, bytes) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const fetchPage = createFetchPage({ allow_private_addresses: true });
    const going = fetchPage(`http://127.0.0.1:${port}/`, new AbortController().signal);
    await expect(going).rejects.toMatchObject({ name: 'ToolError', kind: 'unavailable' });
    await new Promise((resolve) => server.close(resolve));
  });

  it('nobody there is said so, and worth another try', async () => {
    const gone = await startSite();
    await gone.end();
    const going = createFetchPage({ allow_private_addresses: true })(gone.origin, new AbortController().signal);
    await expect(going).rejects.toMatchObject({
      kind: 'unavailable',
      retryable: true,
      message: expect.stringMatching(/refused/),
    });
  });
});
