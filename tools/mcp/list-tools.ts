/** The tools that a server has, page by page. Only what is used of them is looked at, and loosely: it is not ours. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';

const hint = z.boolean().nullish().catch(undefined);
const words = z.string().nullish().catch(undefined);
const ListedTool = z.object({
  name: z.string(),
  title: words,
  description: words,
  inputSchema: z.unknown().optional(),
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

export async function listTools(client: Client, options: { signal: AbortSignal; timeout: number }) {
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, Page, options);
    tools.push(...page.tools);
    cursor = page.nextCursor ?? undefined;
    if (cursor === undefined) return tools;
    if (tools.length > MAX_TOOLS || pages === MAX_PAGES) {
      throw new InvalidList(`its list of tools has no end: ${tools.length} on ${pages} pages, and more to come`);
    }
  }
}
