/** A server of the Model Context Protocol as a toolset: its tools are `mcp.<name>.<tool>`. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { z } from 'zod';
import { parseDuration } from '../../contract/durations.js';
import { PerdureError } from '../../contract/errors.js';
import { defineToolset } from '../../kit/define-toolset.js';
import type { FoundTool, PinnedTool, Toolset } from '../../kit/define-toolset.js';
import { callTool } from './call-tool.js';
import { argumentsOf } from './check-arguments.js';
import { createConnection } from './connection.js';
import { createHttpTransport } from './http-transport.js';
import type { HttpOptions } from './http-transport.js';
import { InvalidList, listTools } from './list-tools.js';
import type { ListedTool } from './list-tools.js';
import { createLogLines } from './log-lines.js';
import { modelSchema } from './model-schema.js';
import { createStdioTransport } from './stdio-transport.js';
import type { StdioOptions } from './stdio-transport.js';
import { toolSegment } from './tool-segment.js';

/** Where the server is. Its name is a segment of its tools' ids, in [a-z0-9_]. */
export type McpServer = { name: string; stdio: StdioOptions } | { name: string; http: HttpOptions };

export interface McpServerOptions {
  /** Only these of its tools, by the names that the server has for them; all if absent. */
  tools?: readonly string[];
  /** Of one call; 60 s by default. Milliseconds or like "30s". */
  timeout?: number | string;
  /** To start or connect, and again to list the tools; 30 s by default. */
  connect_timeout?: number | string;
  /** A person must approve calls of tools that do not say they destroy nothing. */
  approve_destructive?: boolean;
  /** A run goes on without the server's tools when these cannot be listed; by default it fails. */
  optional?: boolean;
}

export function mcpServer(server: McpServer, options: McpServerOptions = {}): Toolset {
  const toolset_id = `mcp.${server.name}`;
  const title = titleOf(server);
  const timeout_ms = durationOf(options.timeout, 60_000, `${title}: timeout`);
  const connectTimeoutMs = durationOf(options.connect_timeout, 30_000, `${title}: connect_timeout`);

  return defineToolset({
    toolset_id,
    ...(options.optional === undefined ? {} : { optional: options.optional }),
    open(report) {
      const log = createLogLines(report);
      const connection = createConnection({
        openTransport: () =>
          'stdio' in server ? createStdioTransport(server.stdio, log) : createHttpTransport(server.http),
        connectTimeoutMs,
        report,
        leave: endSession,
      });
      const schemas = createSchemas();
      return {
        async discover(signal) {
          try {
            const limits = { signal, timeout: connectTimeoutMs };
            const listed = await connection.use(signal, (client) => listTools(client, limits));
            return chosen(listed, options, report).map((tool) => found(tool, toolset_id, timeout_ms, options));
          } catch (error) {
            throw explained(error, title, log.last());
          }
        },
        bind: (tool) => ({
          input: schemas.of(tool),
          run: (args, context) => callTool(connection, title, tool, args, context),
        }),
        close: () => connection.close(),
      };
    },
  });
}

function chosen(
  listed: readonly ListedTool[],
  { tools }: McpServerOptions,
  report: (line: string) => void,
): ListedTool[] {
  const missing = (tools ?? []).filter((name) => !listed.some((tool) => tool.name === name));
  if (missing.length > 0) report(`it has no tool ${missing.map((name) => `"${name}"`).join(', ')}`);
  return listed.filter(({ name, execution }) => {
    if (tools !== undefined && !tools.includes(name)) return false;
    if (execution?.taskSupport !== 'required') return true;
    report(`its tool "${name}" runs as a task only, and is left out`);
    return false;
  });
}

function found(
  { name, title, description, inputSchema, annotations }: ListedTool,
  toolsetId: string,
  timeout_ms: number,
  { approve_destructive = false }: McpServerOptions,
): FoundTool {
  const isReadOnly = annotations?.readOnlyHint === true;
  // What says nothing is destructive: the protocol's own default.
  const isDestructive = !isReadOnly && annotations?.destructiveHint !== false;
  return {
    tool_id: `${toolsetId}.${toolSegment(name)}`,
    source_name: name,
    description: description?.trim() || title?.trim() || annotations?.title?.trim() || name,
    parameters: modelSchema(inputSchema),
    idempotent: isReadOnly || annotations?.idempotentHint === true,
    timeout_ms,
    ...(approve_destructive && isDestructive ? { approval: 'always' } : {}),
  };
}

/** The schema of the last call of each tool, compiled: most calls of a worker are of runs that pinned the same one. */
function createSchemas(): { of(tool: PinnedTool): z.ZodType } {
  const compiled = new Map<string, { text: string; input: z.ZodType }>();
  return {
    of({ tool_id, parameters }) {
      const text = JSON.stringify(parameters);
      const known = compiled.get(tool_id);
      if (known?.text === text) return known.input;
      const input = argumentsOf(parameters);
      compiled.set(tool_id, { text, input });
      return input;
    },
  };
}

function explained(error: unknown, title: string, lastLines: readonly string[]): Error {
  const why = error instanceof Error ? error.message : String(error);
  if (error instanceof InvalidList) return new PerdureError('toolset_invalid', `${title}: ${why}`, { cause: error });
  const printed = lastLines.length === 0 ? '' : `; the last that it printed: ${lastLines.join(' | ')}`;
  return new PerdureError('toolset_unavailable', `${title} did not list its tools: ${why}${printed}`, { cause: error });
}

const NO_URL = { protocol: '', username: '', password: '', origin: '', pathname: '' };

/** Without what may hold secrets: arguments, user info and query. */
function titleOf(server: McpServer): string {
  if ('stdio' in server) return `MCP server "${server.name}" (${server.stdio.command})`;
  const { name, http } = server;
  const { protocol, username, password, origin, pathname } = URL.canParse(http.url) ? new URL(http.url) : NO_URL;
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') {
    const rule = 'must be one of http or https, with credentials in its headers and not in it';
    throw new PerdureError('invalid_config', `MCP server "${name}": its url ${rule}`);
  }
  return `MCP server "${name}" (${origin}${pathname})`;
}

function durationOf(value: number | string | undefined, fallback: number, field: string): number {
  const milliseconds = value === undefined ? fallback : parseDuration(value);
  if (milliseconds !== undefined) return milliseconds;
  throw new PerdureError('invalid_config', `${field} "${value}" is no duration: write milliseconds, or like "30s"`);
}

const LEAVE_MS = 2_000;

/** A server over HTTP keeps a session until it is told; one that is gone is not waited for. */
async function endSession(transport: Transport): Promise<void> {
  if (!(transport instanceof StreamableHTTPClientTransport)) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, LEAVE_MS)));
  await Promise.race([transport.terminateSession().catch(() => undefined), late]);
  clearTimeout(timer);
}
