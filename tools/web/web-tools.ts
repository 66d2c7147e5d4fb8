/** The four tools of the web: search, read, scroll, search in a page. */
import { z } from 'zod';
import { defineTool } from '../../kit/define-tool.js';
import type { Tool, ToolContext } from '../../kit/define-tool.js';
import { ToolError } from '../../kit/tool-error.js';
import { tenantOf } from '../tenant-of.js';
import { pageKey } from './fetch/check-url.js';
import { createFetchPage } from './fetch/fetch-page.js';
import type { FetchOptions } from './fetch/fetch-page.js';
import { findInPage } from './read/find-in-page.js';
import { createLoadPage } from './read/load-page.js';
import type { LoadedPage } from './read/load-page.js';
import { untrusted } from './read/untrusted-text.js';
import { blocked, countScroll, noteSearch, SCROLLS, SEARCHED } from './scroll-contract.js';
import type { SearchEngine } from './search/search-engine.js';

export interface WebToolsOptions {
  search: SearchEngine;
  fetch?: FetchOptions;
}

const DEFAULT_RESULTS = 5;
const MOST_RESULTS = 10;
const MAX_QUERY_CHARS = 400;
/** A page that is slow twice is not worth a third time. */
const REPEATABLE = { idempotent: true, max_attempts: 2 };

const url = z.string().min(1).describe('The whole address, with http:// or https://.');
const query = z.string().trim().min(1).max(MAX_QUERY_CHARS);

export function webTools({ search, fetch }: WebToolsOptions): Tool[] {
  const fetchPage = createFetchPage(fetch);
  const loadPage = createLoadPage(async (address, signal) => {
    return (await search.open?.(address)) ?? fetchPage(address, signal);
  });
  const load = (address: string, context: ToolContext) =>
    loadPage(address, {
      root_run_id: context.run.root_run_id,
      tenant: tenantOf(context),
      signal: context.signal,
    });

  const performWebSearch = defineTool({
    tool_id: 'web.search.perform_web_search',
    description: 'Searches the web. Gives addresses, titles and a few words of each page; read those that matter.',
    input: z.object({ query, count: z.int().min(1).max(MOST_RESULTS).optional() }),
    ...REPEATABLE,
    async run({ query: asked, count = DEFAULT_RESULTS }, { progress, signal }) {
      progress(`Querying search engine: '${asked}'...`);
      const results = await search.search(asked, { count, signal });
      if (results.length === 0) return 'Nothing was found. Try other or fewer words.';
      const lines = results.map(({ title, url: address, snippet, published }, index) =>
        [
          `${index + 1}. ${title || '(no title)'}`,
          address,
          ...(published === undefined ? [] : [published]),
          snippet,
        ].join('\n'),
      );
      return untrusted(`Results: ${results.length}.`, lines.join('\n\n'));
    },
  });

  const readWebPage = defineTool({
    tool_id: 'web.pages.read_web_page',
    description: 'Reads a web page: its first part, page 0, and how many pages there are.',
    input: z.object({ url }),
    ...REPEATABLE,
    async run({ url: address }, context) {
      context.progress(`Reading web page: ${address}...`);
      return shownPage(await load(address, context), 0);
    },
  });

  const scrollWebPage = defineTool({
    tool_id: 'web.pages.scroll_web_page',
    description:
      'Opens a further page of a long web page, by its number. Pages beyond 0 only after search_web_page on the same ' +
      'URL, which says where to look; three scrolls for a URL at most.',
    input: z.object({ url, page: z.int().min(0) }),
    reads: [SEARCHED, SCROLLS],
    ...REPEATABLE,
    async run({ url: address, page }, context) {
      const { state, notice, progress } = context;
      const asked = pageKey(address);
      const refusal = blocked(state, asked, page);
      if (refusal !== undefined) {
        notice(refusal);
        return refusal;
      }
      countScroll(state, asked);
      progress(`Scrolling to page ${page}: ${address}...`);
      const loaded = await load(address, context);
      const found = pageKey(loaded.url);
      if (found !== asked) countScroll(state, found);
      const last = loaded.pages.length - 1;
      if (page > last)
        throw new ToolError('invalid_call', `There is no page ${page}: ${address} has pages 0 to ${last}.`);
      return shownPage(loaded, page);
    },
  });

  const searchWebPage = defineTool({
    tool_id: 'web.pages.search_web_page',
    description: 'Searches within a web page. Gives the passages, each with the number of the page that it is on.',
    input: z.object({ url, query }),
    ...REPEATABLE,
    async run({ url: address, query: asked }, context) {
      context.progress(`Searching web page for '${asked}': ${address}...`);
      const loaded = await load(address, context);
      const { passages, total } = findInPage(loaded.pages, asked);
      noteSearch(context.state, [pageKey(address), pageKey(loaded.url)]);
      const range = `The web page has ${pagesOf(loaded)}.`;
      if (total === 0) return `Nothing of this is on the web page. ${range} Try other or fewer words.`;
      const lines = passages.map(({ page, excerpt }) => `Page ${page}: ${excerpt}`);
      return untrusted(`Passages: ${passages.length} of ${total}. ${range}`, lines.join('\n\n'));
    },
  });

  return [performWebSearch, readWebPage, scrollWebPage, searchWebPage];
}

function shownPage(loaded: LoadedPage, page: number): string {
  const { url: address, title, byline, pages } = loaded;
  const more =
    pages.length === 1 ? '' : ' Find a passage with search_web_page, then open its page with scroll_web_page.';
  const head = [
    `URL: ${address}`,
    ...(title === '' ? [] : [`Title: ${title}`]),
    ...(byline === undefined ? [] : [`By: ${byline}`]),
  ];
  const text = pages[page] ?? '';
  const body = text === '' ? '(There is no text on it.)' : text;
  return untrusted(
    `This is page ${page}; the web page has ${pagesOf(loaded)}.${more}`,
    `${head.join('\n')}\n\n${body}`,
  );
}

function pagesOf({ pages }: LoadedPage): string {
  return pages.length === 1 ? 'page 0 only' : `pages 0 to ${pages.length - 1}`;
}
