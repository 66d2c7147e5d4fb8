/** A server of the Model Context Protocol as a toolset: its tools are `mcp.<name>.<tool>`. */
import { basename } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import { parseDuration } from '../../contract/durations.js';
import type { JSONSchema7 } from '../../contract/completion.js';
import { PerdureError } from '../../contract/errors.js';
import type { Caller } from '../../contract/principal.js';
import type { Scrub } from '../../contract/scrub-secrets.js';
import { CHARACTER_LIMITS } from '../../contract/sizes.js';
import { defineToolset } from '../../kit/define-toolset.js';
import type { FoundTool, Toolset } from '../../kit/define-toolset.js';
import { callerIn, callTool } from './call-tool.js';
import { createConnection } from './connection.js';
import { hiderFor } from './hide-secrets.js';
import { createHttpTransport } from './http-transport.js';
import type { HttpOptions } from './http-transport.js';
import { InvalidList, listTools } from './list-tools.js';
import type { ListedTool } from './list-tools.js';
import { createLogLines } from './log-lines.js';
import { createOutputSchemas } from './output-schemas.js';
import { createSchemas, UnfitSchema } from './schemas-apart.js';
import type { Schemas } from './schemas-apart.js';
import { createSessions } from './sessions.js';
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
  /** What each call tells the server of whom it is for, in its `_meta`; nothing by default. */
  meta?: (caller: Caller) => Record<string, unknown>;
  /** Where headers or env are a function: sessions at the same time; 100 by default, over stdio 10. */
  max_sessions?: number;
  /** Where headers or env are a function: how long a session that nobody uses is kept; 5 minutes by default. */
  session_idle?: number | string;
}

/** They are checked against the schema by the call itself, apart. */
const Arguments = z.record(z.string(), z.unknown());
const MOST_NAME_CHARS = 200;

export function mcpServer(server: McpServer, options: McpServerOptions = {}): Toolset {
  const toolset_id = `mcp.${server.name}`;
  const title = titleOf(server);
  const timeout_ms = durationOf(options.timeout, 60_000, `${title}: timeout`);
  const connectTimeoutMs = durationOf(options.connect_timeout, 30_000, `${title}: connect_timeout`);
  const idleMs = durationOf(options.session_idle, 300_000, `${title}: session_idle`);
  const { max_sessions = 'stdio' in server ? 10 : 100 } = options;
  if (!Number.isInteger(max_sessions) || max_sessions < 1)
    throw new PerdureError('invalid_config', `${title}: max_sessions ${max_sessions} is no number of sessions`);

  return defineToolset({
    toolset_id,
    ...(options.optional === undefined ? {} : { optional: options.optional }),
    open(tell) {
      const schemas = createSchemas();
      const sessions = createSessions({
        title,
        credentials: ('stdio' in server ? server.stdio.env : server.http.headers) ?? {},
        open: (credentials) => openSession(server, credentials, connectTimeoutMs, tell),
        most: max_sessions,
        idleMs,
      });
      const open = { title, schemas, meta: options.meta };
      return {
        discover: (signal, context) =>
          sessions.use(callerIn(context), async (session) => {
            const { report, log, hide } = session;
            try {
              const listed = await session.list(signal);
              session.outputs.note(listed);
              const tools = chosen(listed, options, report);
              const fitting = await fitAll(tools, { schemas, signal, timeoutMs: connectTimeoutMs }, options, report);
              return fitting.map(([tool, parameters]) => foundTool(tool, parameters, toolset_id, timeout_ms, options));
            } catch (error) {
              throw explained(error, title, log.last(), hide);
            }
          }),
        bind: (tool) => ({
          input: Arguments,
          run: (args, context) =>
            sessions.use(callerIn(context), (session) => callTool(open, session, tool, args, context)),
        }),
        async close() {
          await Promise.all([sessions.close(), schemas.close()]);
        },
      };
    },
  });
}

/** With one set of credentials; nothing is connected yet. */
function openSession(
  server: McpServer,
  credentials: Readonly<Record<string, string>>,
  connectTimeoutMs: number,
  tell: (line: string) => void,
) {
  const hide = hiderFor(server, credentials);
  const report = (line: string) => tell(hide(line));
  const log = createLogLines(report);
  const connection = createConnection({
    openTransport: () =>
      'stdio' in server
        ? createStdioTransport(server.stdio, credentials, log)
        : createHttpTransport(server.http, credentials),
    connectTimeoutMs,
    report,
    leave: endSession,
  });
  const list = (signal: AbortSignal) =>
    connection.use(signal, (client) => listTools(client, { signal, timeout: connectTimeoutMs }));
  return { connection, hide, report, log, list, outputs: createOutputSchemas(list), close: () => connection.close() };
}

interface Fitting {
  schemas: Schemas;
  signal: AbortSignal;
  /** For all schemas together. */
  timeoutMs: number;
}

async function fitAll(
  tools: readonly ListedTool[],
  { schemas, signal, timeoutMs }: Fitting,
  { optional = false }: McpServerOptions,
  report: (line: string) => void,
): Promise<[ListedTool, JSONSchema7][]> {
  const end = Date.now() + timeoutMs;
  const found: [ListedTool, JSONSchema7][] = [];
  for (const [n, tool] of tools.entries()) {
    if (Date.now() > end)
      throw new InvalidList(`its schemas could not be checked within ${timeoutMs} ms: ${n} of ${tools.length} were`);
    const parameters = await fitSchema(tool, schemas, signal).catch((error: unknown) => {
      if (!(error instanceof UnfitSchema)) throw error;
      const why = `its tool "${tool.name.slice(0, MOST_NAME_CHARS)}" cannot be taken: ${error.message}`;
      if (!optional) throw new InvalidList(why, { cause: error });
      report(`${why}; runs go on without it`);
    });
    if (parameters !== undefined) found.push([tool, parameters]);
  }
  return found;
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

/** Throws an UnfitSchema where it is none that an agent could be given. */
async function fitSchema(tool: ListedTool, schemas: Schemas, signal: AbortSignal): Promise<JSONSchema7> {
  if (tool.name.length > MOST_NAME_CHARS) throw new UnfitSchema(`its name has ${tool.name.length} characters`);
  const { length } = tool.description ?? '';
  if (length > CHARACTER_LIMITS.tool_description) throw new UnfitSchema(`its description has ${length} characters`);
  await schemas.tryOut(tool.outputSchema, signal);
  return schemas.forModels(tool.inputSchema, signal);
}

function foundTool(
  { name, title, description, annotations }: ListedTool,
  parameters: JSONSchema7,
  toolsetId: string,
  timeout_ms: number,
  { approve_destructive = false }: McpServerOptions,
): FoundTool {
  const named = title?.trim() || annotations?.title?.trim();
  const isReadOnly = annotations?.readOnlyHint === true;
  // What says nothing is destructive: the protocol's own default.
  const isDestructive = !isReadOnly && annotations?.destructiveHint !== false;
  return {
    tool_id: `${toolsetId}.${toolSegment(name)}`,
    source_name: name,
    description: description?.trim() || named || name,
    ...(named ? { display_name: named } : {}),
    parameters,
    idempotent: isReadOnly || annotations?.idempotentHint === true,
    timeout_ms,
    ...(approve_destructive && isDestructive ? { approval: 'always' } : {}),
  };
}

/** Its cause would have what is hidden here. */
function explained(error: unknown, title: string, lastLines: readonly string[], hide: Scrub): Error {
  const why = error instanceof Error ? error.message : String(error);
  if (error instanceof InvalidList) return new PerdureError('toolset_invalid', hide(`${title}: ${why}`));
  const printed = lastLines.length === 0 ? '' : `; the last that it printed: ${lastLines.join(' | ')}`;
  return new PerdureError('toolset_unavailable', hide(`${title} did not list its tools: ${why}${printed}`));
}

const NO_URL = { protocol: '', username: '', password: '', origin: '', pathname: '' };

/** Without what may hold secrets: arguments, user info and query; nor where its program is. */
function titleOf(server: McpServer): string {
  if ('stdio' in server) return `MCP server "${server.name}" (${basename(server.stdio.command)})`;
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
