/** What a search engine is to the web tools. */
import type { FetchedPage } from '../fetch/fetch-page.js';

export interface SearchResult {
  url: string;
  title: string;
  snippet: string;
  /** As the engine says it. */
  published?: string;
}

export interface SearchEngine {
  readonly name: string;
  /** Throws a `ToolError` where it cannot answer; nothing found is an empty list. */
  search(query: string, options: { count: number; signal: AbortSignal }): Promise<SearchResult[]>;
  /** A document that the engine holds itself: it is read from there, not from the network. */
  open?(url: string): Promise<FetchedPage | undefined>;
}
