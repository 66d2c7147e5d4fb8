/**
 * From what went wrong with a call to the failure that the model reads. What may have taken effect is `outcome_unknown`
 * unless the tool is safe to repeat; only such a tool is tried again, and only where the server gave no answer.
 */
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { ToolFailureKind } from '../../contract/tools.js';
import type { PinnedTool } from '../../kit/define-toolset.js';
import { isToolError, ToolError } from '../../kit/tool-error.js';
import { ConnectError } from './connection.js';
import { MALFORMED_ANSWER } from './read-message.js';

/** Answers of the protocol. */
const KINDS: Readonly<Record<number, ToolFailureKind>> = {
  [ErrorCode.InvalidParams]: 'invalid_call',
  [ErrorCode.MethodNotFound]: 'unavailable',
  [ErrorCode.RequestTimeout]: 'timeout',
  [MALFORMED_ANSWER]: 'malformed_result',
};

/** The request did not leave the worker. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export function toToolError(error: unknown, server: string, tool: PinnedTool): ToolError {
  if (isToolError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const notMade = () =>
    new ToolError('internal', `${server} cannot be reached, and ${tool.tool_id} was not called: ${message}.`, {
      retryable: true,
    });
  const lost = () =>
    tool.idempotent
      ? new ToolError('internal', `${server} was lost during the call of ${tool.tool_id}: ${message}.`, {
          retryable: true,
        })
      : new ToolError(
          'outcome_unknown',
          `${server} was lost during the call of ${tool.tool_id} (${message}); it may or may not have taken effect. Check before you call it again.`,
        );
  if (error instanceof ConnectError) return notMade();
  if (error instanceof McpError) {
    if (error.code === ErrorCode.ConnectionClosed) return lost();
    return new ToolError(KINDS[error.code] ?? 'internal', `${server}: ${protocolText(message)}`);
  }
  if (error instanceof StreamableHTTPError) return httpError(error, server, lost);
  // Of the parsers: it answered, with something else than the protocol has, or nested so deep that nobody can read it.
  if (
    error instanceof SyntaxError ||
    error instanceof RangeError ||
    (error instanceof Error && error.name.endsWith('ZodError'))
  ) {
    return new ToolError('malformed_result', `${server} answered with what is no result of a tool.`);
  }
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return NOT_SENT.has(cause?.code ?? code ?? '') ? notMade() : lost();
}

function httpError({ code, message }: StreamableHTTPError, server: string, lost: () => ToolError): ToolError {
  const status = code ?? -1;
  if (status === -1) return new ToolError('malformed_result', `${server} answered in no way of the protocol.`);
  if (status === 429) return new ToolError('rate_limited', `${server} takes no more calls at the moment.`);
  if (status === 401 || status === 403) {
    return new ToolError('internal', `${server} refuses the worker's credentials (HTTP ${status}).`);
  }
  if (status === 503) return new ToolError('internal', `${server} is not ready (HTTP 503).`, { retryable: true });
  if (status > 500) return lost();
  return new ToolError('internal', `${server} refused the call (HTTP ${status}): ${message.slice(0, 500)}`);
}

/** A failure that the tool itself reports. The official SDK's servers report refused arguments in this way as well. */
export function reportedFailure(text: string, server: string): ToolError {
  const code = /^MCP error (-\d+):/.exec(text)?.[1];
  const kind = code === undefined ? undefined : KINDS[Number(code)];
  return new ToolError(kind ?? 'internal', text === '' ? `${server} reports a failure and says nothing of it.` : text, {
    retryable: false,
  });
}

function protocolText(message: string): string {
  return message.replace(/^MCP error -?\d+: /, '').slice(0, 2_000);
}
