/** The door of this room: toolsets that ship. */
export { mcpServer } from './mcp/mcp-server.js';
export type { McpServer, McpServerOptions } from './mcp/mcp-server.js';
