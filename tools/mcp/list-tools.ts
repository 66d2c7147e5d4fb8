/** The tools that a server has, page by page. Only what is used of them is looked at, and loosely: it is not ours. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import { measureJson } from '../../contract/schema-bounds.js';

const hint = z.boolean().nullish().catch(undefined);
const words = z.string().nullish().catch(undefined);
const ListedTool = z.object({
  name: z.string(),
  title: words,
  description: words,
  inputSchema: z.unknown().optional(),
  outputSchema: z.unknown().optional(),
  annotations: z
    .object({ title: words, readOnlyHint: hint, idempotentHint: hint, destructiveHint: hint })
    .nullish()
    .catch(undefined),
  execution: z.object({ taskSupport: words }).nullish().catch(undefined),
});
export type ListedTool = z.infer<typeof ListedTool>;

const Page = z.object({ tools: z.array(ListedTool), nextCursor: z.string().nullish() });

/** What the server lists is no list that an agent could be given. */
export class InvalidList extends Error {
  override readonly name = 'InvalidList';
}

/** More than any model is helped by; a server that never ends its list is found out by it. */
const MAX_TOOLS = 1_000;
const MAX_PAGES = 200;
const MAX_CHARS = 4 * 1024 * 1024;

/** `timeout` is for all pages together. */
export async function listTools(client: Client, options: { signal: AbortSignal; timeout: number }) {
  const { signal, timeout } = options;
  const end = Date.now() + timeout;
  const tools: ListedTool[] = [];
  let chars = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const left = end - Date.now();
    if (left <= 0) throw new Error(`not all of them within ${timeout} ms: ${tools.length} on ${pages - 1} pages`);
    const page = await client.request({ method: 'tools/list', params }, Page, { signal, timeout: left });
    cursor = page.nextCursor ?? undefined;
    for (const tool of page.tools) {
      chars += measureJson(tool, MAX_CHARS - chars).characters;
      tools.push(tool);
      if (chars > MAX_CHARS) throw new InvalidList(`its list of tools has more than ${MAX_CHARS} characters`);
      if (tools.length > MAX_TOOLS) throw endless(tools, pages);
    }
    if (cursor === undefined) return tools;
    if (pages === MAX_PAGES) throw endless(tools, pages);
  }
}

function endless(tools: readonly ListedTool[], pages: number): InvalidList {
  return new InvalidList(`its list of tools has no end: ${tools.length} on ${pages} pages, and more to come`);
}
