/** Search engines over sockets, against servers that speak as the vendors do; and the folder of documents. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { brave, localDocuments, searxng, tavily } from '../../../tools/index.js';
import type { SearchEngine } from '../../../tools/index.js';
import { reply, startSite } from './site.js';
import type { Answer, Site } from './site.js';

let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site.end());
afterEach(() => vi.unstubAllEnvs());

const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Answer => {
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};
const ask = (engine: SearchEngine, query = 'oslo harbour', count = 5) =>
  engine.search(query, { count, signal: new AbortController().signal });

interface Vendor {
  engine: () => SearchEngine;
  path: string;
  /** A reply as the vendor sends it, with two results, one of them without a text, and one that cannot be opened. */
  found: unknown;
  nothing: unknown;
  refusal: { status: number; body: unknown; says: RegExp };
  limit: { body: unknown; headers: Record<string, string>; says: RegExp };
}

const vendors: Record<string, Vendor> = {
  SearXNG: {
    engine: () => searxng({ base_url: site.origin }),
    path: '/search',
    found: {
      query: 'oslo harbour',
      number_of_results: 0,
      results: [
        {
          url: 'https://one.test/',
          title: 'The harbour of Oslo',
          content: 'Ships &amp; piers.',
          engine: 'duckduckgo',
          score: 1,
          publishedDate: '2026-01-02T00:00:00',
        },
        { url: 'magnet:?xt=urn:btih:1', title: 'A file', content: '', engine: 'x' },
        { url: 'https://two.test/', title: 'Two', content: null, engine: 'bing' },
      ],
      answers: [],
      unresponsive_engines: [['google', 'timeout']],
    },
    nothing: { query: 'x', results: [], unresponsive_engines: [] },
    refusal: { status: 403, body: '<html>403</html>', says: /403\. Its operator has to allow the format "json"/ },
    limit: { body: 'Too Many Requests', headers: {}, says: /429/ },
  },
  'Brave Search': {
    engine: () => brave({ api_key: 'key', base_url: site.origin }),
    path: '/res/v1/web/search',
    found: {
      type: 'search',
      query: { original: 'oslo harbour' },
      web: {
        type: 'search',
        results: [
          {
            title: 'The harbour of Oslo',
            url: 'https://one.test/',
            description: 'Ships &amp; <strong>piers</strong>.',
            page_age: '2026-01-02T00:00:00',
          },
          { title: 'No', url: 'javascript:alert(1)', description: '' },
          { title: 'Two', url: 'https://two.test/' },
        ],
      },
    },
    nothing: { type: 'search', query: { original: 'x' } },
    refusal: {
      status: 422,
      body: {
        type: 'ErrorResponse',
        error: {
          status: 422,
          code: 'SUBSCRIPTION_TOKEN_INVALID',
          detail: 'The provided subscription token is invalid.',
        },
      },
      says: /422: The provided subscription token is invalid/,
    },
    limit: {
      body: {
        type: 'ErrorResponse',
        error: { status: 429, code: 'RATE_LIMITED', detail: 'Request rate limit exceeded' },
      },
      headers: { 'retry-after': '1', 'x-ratelimit-reset': '1, 1419704' },
      says: /Request rate limit exceeded.*wait: 1\./,
    },
  },
  Tavily: {
    engine: () => tavily({ api_key: 'tvly-key', base_url: site.origin }),
    path: '/search',
    found: {
      query: 'oslo harbour',
      answer: null,
      results: [
        {
          title: 'The harbour of Oslo',
          url: 'https://one.test/',
          content: 'Ships & piers.',
          score: 0.8,
          raw_content: null,
          published_date: '2026-01-02T00:00:00',
        },
        { title: 'Not a page', url: 'one.test', content: '', score: 0.1 },
        { title: 'Two', url: 'https://two.test/', content: '', score: 0.5 },
      ],
      response_time: 1.1,
    },
    nothing: { query: 'x', results: [], response_time: 0.4 },
    refusal: {
      status: 401,
      body: { detail: { error: 'Unauthorized: missing or invalid API key.' } },
      says: /401: Unauthorized: missing or invalid API key.* TAVILY_API_KEY/,
    },
    limit: {
      body: { detail: { error: 'Your request has been blocked due to excessive requests.' } },
      headers: { 'retry-after': '60' },
      says: /excessive requests.*wait: 60/,
    },
  },
};

describe.each(Object.entries(vendors))('%s', (name, vendor) => {
  it('gives results as plain text, only those that can be opened', async () => {
    site.answer(vendor.path, json(vendor.found));
    expect(await ask(vendor.engine())).toEqual([
      {
        url: 'https://one.test/',
        title: 'The harbour of Oslo',
        snippet: 'Ships & piers.',
        published: '2026-01-02T00:00:00',
      },
      { url: 'https://two.test/', title: 'Two', snippet: '' },
    ]);
    expect(await ask(vendor.engine(), 'x', 1)).toHaveLength(1);
  });

  it('may find nothing', async () => {
    site.answer(vendor.path, json(vendor.nothing));
    expect(await ask(vendor.engine())).toEqual([]);
  });

  it('says why it refuses, and that another try is of no use', async () => {
    const { status, body, says } = vendor.refusal;
    site.answer(vendor.path, json(body, status));
    await expect(ask(vendor.engine())).rejects.toMatchObject({
      name: 'ToolError',
      retryable: false,
      message: expect.stringMatching(says),
    });
  });

  it('has a limit of requests, which is worth another try', async () => {
    const { body, headers, says } = vendor.limit;
    site.answer(vendor.path, json(body, 429, headers));
    const going = ask(vendor.engine());
    await expect(going).rejects.toMatchObject({
      kind: 'rate_limited',
      retryable: true,
      message: expect.stringMatching(says),
    });
  });

  it.each([
    ['a server error', json({}, 502), { kind: 'unavailable', retryable: true }],
    ['no JSON', reply('<html>hello</html>', 'text/html'), { kind: 'malformed_result' }],
    ['other JSON', json({ results: 'none', web: 'none' }), { kind: 'malformed_result' }],
    ['a redirect', json({}, 302, { location: 'http://169.254.169.254/' }), { kind: 'unavailable', retryable: false }],
    [
      'a cut reply',
      (_, response) => {
        response.writeHead(200, { 'content-length': '99' }).write('{', () => void response.destroy());
      },
      { kind: 'unavailable' },
    ],
    [
      'more than anyone can read',
      reply(gzipSync(Buffer.alloc(8_000_000, ' ')), 'application/json', { 'content-encoding': 'gzip' }),
      { kind: 'unavailable' },
    ],
  ] as [string, Answer, object][])('answers with %s', async (_what, answer, failure) => {
    site.answer(vendor.path, answer);
    await expect(ask(vendor.engine())).rejects.toMatchObject({ name: 'ToolError', ...failure });
  });

  it('may not be there', async () => {
    const gone = await startSite();
    await gone.end();
    const engines: Record<string, SearchEngine> = {
      SearXNG: searxng({ base_url: gone.origin }),
      'Brave Search': brave({ api_key: 'key', base_url: gone.origin }),
      Tavily: tavily({ api_key: 'key', base_url: gone.origin }),
    };
    const going = ask(engines[name] as SearchEngine);
    await expect(going).rejects.toMatchObject({
      kind: 'unavailable',
      retryable: true,
      message: expect.stringMatching(new RegExp(`^${name}`)),
    });
  });

  it('is left when the call is canceled', async () => {
    const controller = new AbortController();
    site.answer(vendor.path, () => controller.abort());
    const going = vendor.engine().search('x', { count: 1, signal: controller.signal });
    await expect(going).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('what is asked', () => {
  /** The request as it came, with its body. */
  async function asked(path: string, body: unknown, engine: SearchEngine) {
    const got: { url?: string; headers?: IncomingMessage['headers']; method?: string; body?: string } = {};
    site.answer(path, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        Object.assign(got, { url: request.url, headers: request.headers, method: request.method });
        got.body = Buffer.concat(chunks).toString();
        json(body)(request, response);
      });
    });
    await ask(engine, 'c & a?', 3);
    return got;
  }

  it('of SearXNG, also below a path', async () => {
    const { url } = await asked(
      '/engine/search',
      { results: [] },
      searxng({ base_url: `${site.origin}/engine`, language: 'de' }),
    );
    expect(url).toBe('/engine/search?q=c+%26+a%3F&format=json&language=de');
  });

  it('of Brave, with the key of the environment', async () => {
    vi.stubEnv('BRAVE_SEARCH_API_KEY', 'from-env');
    const { url, headers } = await asked('/res/v1/web/search', {}, brave({ base_url: site.origin }));
    expect(url).toBe('/res/v1/web/search?q=c+%26+a%3F&count=3');
    expect(headers?.['x-subscription-token']).toBe('from-env');
  });

  it('of Tavily, with the key of the environment', async () => {
    vi.stubEnv('TAVILY_API_KEY', 'tvly-env');
    const { method, headers, body } = await asked('/search', { results: [] }, tavily({ base_url: site.origin }));
    expect([method, headers?.authorization, headers?.['content-type']]).toEqual([
      'POST',
      'Bearer tvly-env',
      'application/json',
    ]);
    expect(JSON.parse(body ?? '')).toEqual({ query: 'c & a?', max_results: 3 });
  });

  it.each([
    ['BRAVE_SEARCH_API_KEY', () => brave()],
    ['TAVILY_API_KEY', () => tavily()],
    ['SEARXNG_URL', () => searxng()],
  ])('nothing without %s, and the call says what is missing', async (name, engine) => {
    vi.stubEnv(name, '');
    await expect(ask(engine())).rejects.toMatchObject({ kind: 'denied', message: expect.stringMatching(name) });
  });
});

describe('a folder of documents', () => {
  let folder: string;
  let engine: SearchEngine;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-docs-'));
    await mkdir(join(folder, 'ports'));
    await writeFile(
      join(folder, 'ports', 'oslo.html'),
      '<title>Oslo</title><h1>Oslo</h1><p>The harbour has forty piers.',
    );
    await writeFile(
      join(folder, 'ports', 'bergen notes.md'),
      '# Bergen\n\nThe harbour of Bergen is older than Oslo’s.',
    );
    await writeFile(join(folder, 'rain.txt'), 'It rains in Bergen on most days of the year.');
    await writeFile(join(folder, 'chart.png'), 'harbour harbour harbour');
    await symlink('/etc/hostname', join(folder, 'outside.txt'));
    engine = localDocuments({ folder, base_url: 'https://docs.test/lib' });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is searched by words, also with a slip of the pen, and each document has a URL', async () => {
    expect(await ask(engine, 'piers')).toEqual([
      { url: 'https://docs.test/lib/ports/oslo.html', title: 'Oslo', snippet: '# Oslo The harbour has forty piers.' },
    ]);
    const found = await ask(engine, 'harbor');
    expect(found.map(({ url }) => url).toSorted()).toEqual([
      'https://docs.test/lib/ports/bergen%20notes.md',
      'https://docs.test/lib/ports/oslo.html',
    ]);
    expect((await ask(engine, 'bergen')).map(({ title }) => title)).toEqual(['Bergen', 'rain.txt']);
    expect(await ask(engine, 'zanzibar')).toEqual([]);
  });

  it('gives its documents by URL, and nothing beside them', async () => {
    const open = (url: string) => engine.open?.(url);
    expect(await open('https://DOCS.test:443/lib/ports/oslo.html#piers')).toMatchObject({ format: 'html' });
    expect(await open('https://docs.test/lib/ports/bergen%20notes.md')).toMatchObject({ format: 'markdown' });
    for (const path of ['outside.txt', 'chart.png', '../../etc/passwd', '..%2f..%2fetc%2fpasswd', 'ports'])
      expect(await open(`https://docs.test/lib/${path}`)).toBeUndefined();
    // What is not below the URL is none of the folder's business, even where there is no folder.
    const absent = localDocuments({ folder: join(folder, 'absent'), base_url: 'https://docs.test/lib' });
    expect(await absent.open?.('https://other.test/lib/ports/oslo.html')).toBeUndefined();
  });

  it('that is missing is a failure, and found once it is there', async () => {
    const later = join(folder, 'later');
    const absent = localDocuments({ folder: later, base_url: 'https://docs.test/' });
    await expect(ask(absent)).rejects.toMatchObject({ code: 'ENOENT' });
    await mkdir(later);
    expect(await ask(absent)).toEqual([]);
  });

  it('has a URL that is one', () => {
    expect(() => localDocuments({ folder, base_url: 'docs' })).toThrow(/base_url/);
  });
});
