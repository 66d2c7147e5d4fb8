/** What the MCP server of the tests has: with names, schemas and annotations of all kinds. */
import type { Tool } from '@modelcontextprotocol/sdk/types.js';

const none = { type: 'object' as const };
const withText = { type: 'object' as const, properties: { text: { type: 'string' } }, required: ['text'] };

const TOOLS: readonly Tool[] = [
  { name: 'echo', description: 'Says it again.', inputSchema: withText, annotations: { readOnlyHint: true } },
  { name: 'count_up', inputSchema: none, annotations: { idempotentHint: true, destructiveHint: false } },
  { name: 'wait', inputSchema: none },
  { name: 'hang', inputSchema: none },
  { name: 'freeze', inputSchema: none },
  { name: 'hold', inputSchema: none, annotations: { readOnlyHint: true } },
  { name: 'big', inputSchema: none },
  { name: 'gallery', inputSchema: none },
  { name: 'fail', inputSchema: none },
  { name: 'refuse', inputSchema: none, annotations: { readOnlyHint: true } },
  { name: 'die', inputSchema: none },
  { name: 'die_once', inputSchema: none, annotations: { idempotentHint: true } },
  { name: 'environment', inputSchema: none },
  { name: 'structured', inputSchema: none },
  { name: 'meta', inputSchema: none },
  { name: 'print', inputSchema: none },
  { name: 'nothing', inputSchema: none },
  { name: 'createIssue', title: 'Makes an issue', inputSchema: none, annotations: { destructiveHint: true } },
  { name: 'get-weather.by/city', inputSchema: none },
  { name: '天気', inputSchema: none },
];

/** A 1×1 PNG. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const NAMES = TOOLS.map((tool) => tool.name);

/** `changed`: echo has another name, wait is gone. `collision`: two names that become one id. */
export function listOf(mode: string): Tool[] {
  if (mode === 'collision') return [...TOOLS, { name: 'create-issue', inputSchema: none }];
  if (mode !== 'changed') return [...TOOLS];
  return TOOLS.filter(({ name }) => name !== 'wait').map((tool) =>
    tool.name === 'echo' ? { ...tool, name: 'repeat' } : tool,
  );
}
