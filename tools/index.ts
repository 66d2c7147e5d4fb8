/** The door of this room: toolsets that ship. */
export { codeInterpreter } from './code/code-interpreter.js';
export type { CodeInterpreterOptions } from './code/code-interpreter.js';
export { mcpServer } from './mcp/mcp-server.js';
export type { McpServer, McpServerOptions } from './mcp/mcp-server.js';
export { scratchpadTools } from './scratchpad/scratchpad-tools.js';
export type { FetchOptions } from './web/fetch/fetch-page.js';
export { brave } from './web/search/brave.js';
export type { BraveOptions } from './web/search/brave.js';
export { localDocuments } from './web/search/local-documents.js';
export type { LocalDocumentsOptions } from './web/search/local-documents.js';
export type { SearchEngine, SearchResult } from './web/search/search-engine.js';
export { searxng } from './web/search/searxng.js';
export type { SearxngOptions } from './web/search/searxng.js';
export { tavily } from './web/search/tavily.js';
export type { TavilyOptions } from './web/search/tavily.js';
export { webTools } from './web/web-tools.js';
export type { WebToolsOptions } from './web/web-tools.js';
