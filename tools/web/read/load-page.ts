/**
 * A URL as pages of text. What was read a moment ago is kept in this worker's memory, for the calls of the same run
 * tree only and not for long: scrolling must not ask the server again for each page, and a page must not change its
 * numbers between two calls. It is a convenience: another worker fetches anew, and no counter depends on it.
 */
import type { FetchPage, FetchedPage } from '../fetch/fetch-page.js';
import { pageKey } from '../fetch/check-url.js';
import { decodeText } from './decode-text.js';
import type { ReadablePage } from './read-html.js';
import { createReadHtml } from './read-html-apart.js';
import { splitPages } from './split-pages.js';
import { visibleText } from './untrusted-text.js';

export interface LoadedPage {
  /** After redirects. */
  url: string;
  title: string;
  byline?: string;
  pages: string[];
}

export interface Caller {
  root_run_id: string;
  /** Whose share of the worker it takes. */
  tenant: string;
  signal: AbortSignal;
}

export type LoadPage = (url: string, from: Caller) => Promise<LoadedPage>;

const LIFE_MS = 5 * 60_000;
const MAX_KEPT = 50;
/** What is larger is read again: the worker's memory is for more than pages. */
const MAX_KEPT_CHARS = 1_000_000;

export function createLoadPage(fetchPage: FetchPage): LoadPage {
  const kept = new Map<string, { page: LoadedPage; until: number }>();
  const readHtml = createReadHtml();
  return async (url, { root_run_id, tenant, signal }) => {
    const key = `${root_run_id} ${pageKey(url)}`;
    const known = kept.get(key);
    if (known !== undefined && known.until > Date.now()) return known.page;
    kept.delete(key);
    const fetched = await fetchPage(url, signal);
    const page = await readPage(fetched, (html, address) => readHtml(html, address, { group: tenant, signal }));
    if (!fetched.no_store && page.pages.reduce((sum, text) => sum + text.length, 0) <= MAX_KEPT_CHARS) {
      kept.set(key, { page, until: Date.now() + LIFE_MS });
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    }
    return page;
  };
}

type Read = (html: string, url: string) => Promise<ReadablePage>;

async function readPage(fetched: FetchedPage, readHtml: Read): Promise<LoadedPage> {
  const { title, byline, text } = await readText(fetched, readHtml);
  const visible = visibleText(text)
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return { url: fetched.url, title, ...(byline === undefined ? {} : { byline }), pages: splitPages(visible) };
}

async function readText(fetched: FetchedPage, readHtml: Read): Promise<ReadablePage> {
  const text = decodeText(fetched);
  if (fetched.format === 'html') return readHtml(text, fetched.url);
  if (fetched.format === 'json') return { title: '', text: indented(text) };
  const heading = fetched.format === 'markdown' ? /^#\s+(.+)$/m.exec(text)?.[1] : undefined;
  return { title: heading?.trim() ?? '', text };
}

/** Where it is JSON: lines are what a text is cut and searched by. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}
