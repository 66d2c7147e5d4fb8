/**
 * An MCP server made with the official SDK, in a process of its own: `server-main stdio` or `server-main http PORT`.
 * It writes what happens to it into the file MCP_LOG, a line each; MCP_MODE makes it misbehave.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { CallToolRequestSchema, isInitializeRequest, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, ServerNotification, ServerRequest, Tool } from '@modelcontextprotocol/sdk/types.js';
import { listOf, PIXEL } from './server-tools.js';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Arguments = Readonly<Record<string, unknown>>;

const [way, port = '0'] = process.argv.slice(2);
const mode = process.env['MCP_MODE'] ?? '';
const note = (line: string) => appendFileSync(process.env['MCP_LOG'] ?? '/dev/null', `${line}\n`);
const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
const PAGE = 4;

let tools: Tool[] = listOf(mode);
/** A change that a test asked for, made when the server hears of it: other processes have the same file. */
const changes = () => {
  const path = process.env['MCP_CHANGES'];
  if (path !== undefined && existsSync(path)) tools = listOf('changed');
};

async function call(name: string, args: Arguments, extra: Extra): Promise<CallToolResult> {
  note(`called ${name} ${JSON.stringify(args)}`);
  switch (name) {
    case 'echo':
      return say(String(args['text']));
    case 'count_up':
      return countUp(Number(args['steps']), extra);
    case 'wait':
      return waitForCancel(extra);
    case 'hang':
      return new Promise(() => {});
    case 'hold':
      return hold(String(args['path']));
    case 'freeze':
      for (;;);
    case 'big':
      return say('0123456789abcdef'.repeat(Number(args['bytes']) / 16));
    case 'gallery':
      return gallery();
    case 'fail':
      return { ...say(String(args['message'])), isError: true };
    case 'refuse':
      throw Object.assign(new Error('the server says no'), { code: Number(args['code']) });
    case 'die':
    case 'die_once':
      return die(args);
    case 'environment':
      return say(JSON.stringify(process.env));
    case 'structured':
      return { content: [], structuredContent: { answer: 42 } };
    case 'meta':
      return say(JSON.stringify(extra._meta));
    case 'print':
      process.stderr.write(String(args['text']));
      if (way === 'stdio') process.stdout.write('this is no message\n');
      return say('printed');
    case 'nothing':
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: extra.requestId, result: null })}\n`);
      return new Promise(() => {});
    default:
      return say(`${name} was called`);
  }
}

async function countUp(steps: number, { _meta, sendNotification }: Extra): Promise<CallToolResult> {
  const progressToken = _meta?.progressToken ?? 0;
  for (let progress = 1; progress <= steps; progress++) {
    const params = { progressToken, progress, total: steps, message: `step ${progress}` };
    await sendNotification({ method: 'notifications/progress', params });
  }
  return say(`counted to ${steps}`);
}

function waitForCancel({ signal }: Extra): Promise<CallToolResult> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      note(`canceled ${String(signal.reason)}`);
      resolve(say('too late'));
    });
  });
}

/** Until a file is there. */
async function hold(path: string): Promise<CallToolResult> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20));
  return say('released');
}

/** In the middle of the call; `marker` is there once it has been. */
function die({ marker }: Arguments): CallToolResult | Promise<CallToolResult> {
  if (typeof marker === 'string') {
    if (existsSync(marker)) return say('alive');
    writeFileSync(marker, '');
  }
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

function gallery(): CallToolResult {
  const blob = Buffer.from('%PDF-1.4').toString('base64');
  return {
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'audio', data: Buffer.from('RIFF').toString('base64'), mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///notes.txt', mimeType: 'text/plain', text: 'a note' } },
      { type: 'resource', resource: { uri: 'file:///report.pdf', mimeType: 'application/pdf', blob } },
      { type: 'resource_link', uri: 'https://example.org/data.csv', name: 'data', mimeType: 'text/csv' },
    ],
  };
}

function createMcpServer(): Server {
  const server = new Server({ name: 'fixture', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    changes();
    note('listed');
    const from = Number(params?.cursor ?? 0);
    const to = mode === 'endless' ? 0 : from + PAGE;
    const more = mode === 'endless' || to < tools.length;
    return { tools: tools.slice(from, from + PAGE), ...(more ? { nextCursor: `${to}` } : {}) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    changes();
    if (tools.some((tool) => tool.name === params.name)) return call(params.name, params.arguments ?? {}, extra);
    return { ...say(`there is nothing called ${params.name}`), isError: true };
  });
  return server;
}

async function serveHttp(): Promise<void> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const http = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body: unknown = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
      if (mode === 'silent') return;
      if (process.env['MCP_TOKEN'] !== undefined && request.headers.authorization !== process.env['MCP_TOKEN']) {
        return response.writeHead(401).end();
      }
      let transport = sessions.get(String(request.headers['mcp-session-id']));
      if (transport === undefined) {
        if (!isInitializeRequest(body)) return response.writeHead(404).end('no such session');
        const created = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => {
            note('session');
            sessions.set(id, created);
          },
          onsessionclosed: () => note('session closed'),
        });
        transport = created;
        await createMcpServer().connect(created as Parameters<Server['connect']>[0]);
      }
      await transport.handleRequest(request, response, body);
    })();
  });
  http.listen(Number(port), '127.0.0.1', () => {
    process.stdout.write(`${(http.address() as AddressInfo).port}\n`);
  });
}

note(`started ${process.pid}`);
// Whoever started it is gone.
process.stdin.on('end', () => {
  if (mode !== 'stubborn') process.exit(0);
});
if (mode === 'close') {
  process.stderr.write('no licence\n');
  process.exit(3);
} else if (mode === 'stubborn') {
  process.on('SIGTERM', () => note('ignored SIGTERM'));
  setInterval(() => {}, 1_000);
}
if (way === 'http') {
  process.stdin.resume();
  await serveHttp();
} else if (mode === 'silent') process.stdin.resume();
else await createMcpServer().connect(new StdioServerTransport());
