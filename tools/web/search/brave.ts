/** Brave Search. */
import { z } from 'zod';
import { askEngine, firstResults, missingKey, plainText } from './ask-engine.js';
import { fromEnvironment } from './environment.js';
import type { SearchEngine } from './search-engine.js';

const MOST_RESULTS = 20;
const MOST_QUERY_CHARS = 400;

const Reply = z.object({
  // Absent where nothing was found.
  web: z
    .object({
      results: z.array(
        z.object({
          url: z.string(),
          title: z.string().nullish(),
          description: z.string().nullish(),
          page_age: z.string().nullish(),
        }),
      ),
    })
    .nullish(),
});

export interface BraveOptions {
  /** Else `BRAVE_SEARCH_API_KEY`. */
  api_key?: string;
  base_url?: string;
}

export function brave(options: BraveOptions = {}): SearchEngine {
  return {
    name: 'Brave Search',
    async search(query, { count, signal }) {
      const key = options.api_key ?? fromEnvironment('BRAVE_SEARCH_API_KEY');
      if (key === undefined) throw missingKey('Brave Search', 'BRAVE_SEARCH_API_KEY');
      const url = new URL('/res/v1/web/search', options.base_url ?? 'https://api.search.brave.com');
      url.searchParams.set('q', query.slice(0, MOST_QUERY_CHARS));
      url.searchParams.set('count', String(Math.min(count, MOST_RESULTS)));
      const headers = { 'x-subscription-token': key };
      const refused = 'Its operator has to check BRAVE_SEARCH_API_KEY.';
      const { web } = await askEngine({ engine: 'Brave Search', url, headers, refused, signal }, Reply);
      const found = (web?.results ?? []).map(({ url: page, title, description, page_age }) => ({
        url: page,
        title: plainText(title ?? ''),
        snippet: plainText(description ?? ''),
        ...(page_age == null ? {} : { published: page_age }),
      }));
      return firstResults(found, count);
    },
  };
}
