/**
 * One call of a tool of an MCP server.
 *
 * L1  The abort signal is passed on as `notifications/cancelled`, and the call returns without waiting for the server.
 * L2  A tool that the server no longer has is `unavailable`, whatever the server says about the call.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Progress } from '@modelcontextprotocol/sdk/types.js';
import type { Caller } from '../../contract/principal.js';
import type { Scrub } from '../../contract/scrub-secrets.js';
import { TRIMMED_CHARS } from '../../contract/sizes.js';
import type { ToolContext, ToolReturn } from '../../kit/define-tool.js';
import type { PinnedTool } from '../../kit/define-toolset.js';
import { ToolError } from '../../kit/tool-error.js';
import { withValue } from '../../kit/with-value.js';
import { reportedFailure, toToolError } from './classify-error.js';
import { checkArguments } from './check-arguments.js';
import { checkStructured } from './check-structured.js';
import type { Connection } from './connection.js';
import { hiddenIn } from './hide-secrets.js';
import { listTools } from './list-tools.js';
import { CallResult, toContent } from './map-content.js';
import type { OutputSchemas } from './output-schemas.js';
import type { Schemas } from './schemas-apart.js';

/** What is kept of a server's progress notes: each is an event of the run's log. */
const MAX_NOTES = 100;
const MAX_NOTE_CHARS = 500;
/** The activity ends the call at the tool's own time limit; the SDK's must not come before. */
const NEVER_MS = 2 ** 31 - 1;
/** Looking whether a tool is still there is worth so much. */
const LOOK_MS = 5_000;

/** A server as this worker has it. */
export interface OpenServer {
  title: string;
  schemas: Schemas;
  /** What the application tells the server of the caller. */
  meta: ((caller: Caller) => Record<string, unknown>) | undefined;
}

/** With one set of credentials. */
export interface Session {
  connection: Connection;
  outputs: OutputSchemas;
  /** Takes its credentials out of what is said of a failure. */
  hide: Scrub;
}

export async function callTool(
  server: OpenServer,
  session: Session,
  tool: PinnedTool,
  args: unknown,
  context: ToolContext,
): Promise<ToolReturn> {
  const { title } = server;
  const { connection, hide } = session;
  await checkArguments(server.schemas, tool, args, context);
  // Not the context's own signal: it aborts at the time limit also when the call has long returned.
  const stop = new AbortController();
  const onAbort = () => stop.abort(context.signal.reason);
  context.signal.addEventListener('abort', onAbort, { once: true });
  if (context.signal.aborted) onAbort();
  const request = {
    method: 'tools/call' as const,
    params: {
      name: tool.source_name,
      arguments: args as Record<string, unknown>,
      // For whom the call is, a server hears only where the application says so.
      _meta: { ...server.meta?.(callerIn(context)), 'perdure/idempotency_key': context.idempotency_key },
    },
  };
  const call = (client: Client) =>
    client.request(request, CallResult, {
      signal: stop.signal,
      timeout: NEVER_MS,
      onprogress: notes(context, hide),
    });
  try {
    const result = await connection.use(stop.signal, call);
    if (result.isError === true) throw reportedFailure(await errorText(result, context), title);
    await checkStructured({ schemas: server.schemas, outputs: session.outputs }, tool, result, context);
    const content = await toContent(result, context);
    const { structuredContent: value } = result;
    return value === undefined || value === null ? content : withValue(content, value);
  } catch (error) {
    // Why it was stopped is the activity's to say.
    if (stop.signal.aborted) throw error;
    const failure = hiddenIn(toToolError(error, title, tool), hide);
    if (mayBeGone(failure) && (await isGone(connection, tool, stop.signal))) {
      throw new ToolError('unavailable', `${title} no longer has the tool "${tool.source_name}".`);
    }
    throw failure;
  } finally {
    context.signal.removeEventListener('abort', onAbort);
  }
}

/** Without what is the run's own. */
export function callerIn({ principal, metadata }: Caller): Caller {
  return { principal, metadata };
}

function notes({ progress: tell }: ToolContext, hide: Scrub): (note: Progress) => void {
  let told = 0;
  let last = '';
  return ({ progress, total, message }) => {
    const text = hide(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)).slice(
      0,
      MAX_NOTE_CHARS,
    );
    const fraction = total === undefined || total <= 0 ? undefined : Math.min(1, Math.max(0, progress / total));
    const note = `${text} ${fraction}`;
    if (note === last || told === MAX_NOTES) return;
    last = note;
    told += 1;
    tell(text, fraction);
  };
}

/** Failures are text only, and short. */
async function errorText(result: CallResult, context: ToolContext): Promise<string> {
  const content = await toContent(result, context);
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const text = parts.map((part) => (part.type === 'text' ? part.text : '[an image]')).join('\n\n');
  if (text.length <= TRIMMED_CHARS) return text;
  const { id } = await context.artefacts.put(text, 'text/plain; charset=utf-8');
  return `${text.slice(0, TRIMMED_CHARS)}\n[cut: the whole text has ${text.length} characters, kept as output ${id}]`;
}

function mayBeGone({ kind }: ToolError): boolean {
  return kind === 'invalid_call' || kind === 'unavailable' || kind === 'internal';
}

async function isGone(connection: Connection, tool: PinnedTool, signal: AbortSignal): Promise<boolean> {
  try {
    const listed = await connection.use(signal, (client) => listTools(client, { signal, timeout: LOOK_MS }));
    return !listed.some(({ name }) => name === tool.source_name);
  } catch {
    // Then it is the failure of the call that counts.
    return false;
  }
}
