/** Tavily. */
import { z } from 'zod';
import { askEngine, firstResults, missingKey, plainText } from './ask-engine.js';
import { fromEnvironment } from './environment.js';
import type { SearchEngine } from './search-engine.js';

const MOST_RESULTS = 20;

const Reply = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      published_date: z.string().nullish(),
    }),
  ),
});

export interface TavilyOptions {
  /** Else `TAVILY_API_KEY`. */
  api_key?: string;
  base_url?: string;
}

export function tavily(options: TavilyOptions = {}): SearchEngine {
  return {
    name: 'Tavily',
    async search(query, { count, signal }) {
      const key = options.api_key ?? fromEnvironment('TAVILY_API_KEY');
      if (key === undefined) throw missingKey('Tavily', 'TAVILY_API_KEY');
      const question = {
        engine: 'Tavily',
        url: new URL('/search', options.base_url ?? 'https://api.tavily.com'),
        method: 'POST' as const,
        headers: { authorization: `Bearer ${key}` },
        body: { query, max_results: Math.min(count, MOST_RESULTS) },
        refused: 'Its operator has to check TAVILY_API_KEY.',
        signal,
      };
      const { results } = await askEngine(question, Reply);
      const found = results.map(({ url, title, content, published_date }) => ({
        url,
        title: plainText(title ?? ''),
        snippet: plainText(content ?? ''),
        ...(published_date == null ? {} : { published: published_date }),
      }));
      return firstResults(found, count);
    },
  };
}
