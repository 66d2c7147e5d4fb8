/** SearXNG, a search engine that one runs oneself. Its `settings.yml` must list `json` under `search.formats`. */
import { z } from 'zod';
import { ToolError } from '../../../kit/tool-error.js';
import { askEngine, firstResults, plainText } from './ask-engine.js';
import { fromEnvironment } from './environment.js';
import type { SearchEngine } from './search-engine.js';

const Reply = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
});

export interface SearxngOptions {
  /** Else `SEARXNG_URL`. */
  base_url?: string;
  /** Like "en" or "de-CH"; the server's default if absent. */
  language?: string;
}

export function searxng(options: SearxngOptions = {}): SearchEngine {
  return {
    name: 'SearXNG',
    async search(query, { count, signal }) {
      const base = options.base_url ?? fromEnvironment('SEARXNG_URL');
      if (base === undefined)
        throw new ToolError('denied', 'SearXNG has no address on this worker: its operator has to set SEARXNG_URL.');
      const url = new URL('search', base.endsWith('/') ? base : `${base}/`);
      url.searchParams.set('q', query);
      url.searchParams.set('format', 'json');
      if (options.language !== undefined) url.searchParams.set('language', options.language);
      const refused = 'Its operator has to allow the format "json" in settings.yml.';
      const { results } = await askEngine({ engine: 'SearXNG', url, refused, signal }, Reply);
      const found = results.map(({ url: page, title, content, publishedDate }) => ({
        url: page,
        title: plainText(title ?? ''),
        snippet: plainText(content ?? ''),
        ...(publishedDate == null ? {} : { published: publishedDate }),
      }));
      return firstResults(found, count);
    },
  };
}
