/** The keys of search engines, by the names that their makers use. */
export function fromEnvironment(name: 'BRAVE_SEARCH_API_KEY' | 'TAVILY_API_KEY' | 'SEARXNG_URL'): string | undefined {
  const value = process.env[name]?.trim();
  return value === '' ? undefined : value;
}
