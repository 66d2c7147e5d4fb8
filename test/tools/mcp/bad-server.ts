/** A server over HTTP, in this process, that initializes as it should, and lists and answers as the test wants it. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FoundTool, OpenToolset, ToolContext, ToolReturn } from '../../../kit/index.js';
import { mcpServer } from '../../../tools/index.js';
import type { McpServer, McpServerOptions } from '../../../tools/index.js';
import { anyRun } from './calling.js';

export interface Asked {
  id: number;
  method: string;
  params?: { cursor?: string; name?: string; arguments?: unknown; _meta?: { progressToken?: number } };
}

export type OnCall = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void;

interface BadServerOptions {
  /** The result of `tools/list`; one tool `act` if absent. */
  list?: (asked: Asked) => unknown;
  onCall?: OnCall;
  /** That it is to be sent. */
  headers?: Record<string, string>;
  /** Of its address. */
  query?: string;
  options?: McpServerOptions;
}

export interface BadServer {
  readonly server: McpServer;
  /** Methods, in the order in which they came. */
  readonly seen: string[];
  readonly reported: string[];
  readonly toolset: OpenToolset;
  discover(): Promise<FoundTool[]>;
  /** A call of a tool that was found, by default of the first. */
  call(pinned?: Partial<FoundTool>, args?: unknown, given?: Partial<ToolContext>): Promise<ToolReturn>;
  stop(): Promise<void>;
}

export async function startBadServer({
  list,
  onCall,
  headers = {},
  query = '',
  options = {},
}: BadServerOptions): Promise<BadServer> {
  const seen: string[] = [];
  const reported: string[] = [];
  const http = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const asked = (text === '' ? { method: '' } : JSON.parse(text)) as Asked;
      seen.push(`${request.method} ${asked.method}`);
      if (asked.method === 'tools/call' && onCall !== undefined) return onCall(asked, response, request);
      if (asked.id === undefined) return response.writeHead(202).end();
      answer(response, asked.id, await resultOf(asked));
    })();
  });
  const resultOf = (asked: Asked): unknown => {
    if (asked.method === 'tools/call') return { content: [{ type: 'text', text: 'done' }] };
    if (asked.method === 'tools/list') return list?.(asked) ?? { tools: [{ name: 'act', inputSchema: {} }] };
    return { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'bad', version: '1' } };
  };
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: McpServer = {
    name: 'bad',
    http: { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp${query}`, headers },
  };
  const toolset = mcpServer(server, options).options.open((line) => void reported.push(line));
  let found: Promise<FoundTool[]> | undefined;
  const discover = () => (found = toolset.discover(AbortSignal.timeout(60_000), anyRun));
  return {
    server,
    seen,
    reported,
    toolset,
    discover,
    async call(pinned = {}, args = {}, given = {}) {
      const [first] = await (found ??= discover());
      const { run } = toolset.bind({ ...(first as FoundTool), ...pinned });
      return run(args, {
        run: { run_id: 'run-1', agent_id: 'test.agent', root_run_id: 'run-1' },
        signal: AbortSignal.timeout(30_000),
        idempotency_key: 'key',
        progress() {},
        ...given,
      } as unknown as ToolContext);
    },
    async stop() {
      await toolset.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

export function answer(response: ServerResponse, id: number, result: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
