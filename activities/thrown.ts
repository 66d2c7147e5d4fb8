/**
 * What the application's own code threw where it should not have. Its author gets all of it, in the worker's output and
 * in the log's debug field; the model and users get a sentence that holds nothing of it: nobody knows what is in there.
 */
import { isPerdureError } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { STORAGE_ERRORS } from '../contract/storage-errors.js';
import { toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure } from '../contract/tools.js';
import { isToolError } from '../kit/tool-error.js';
import { withoutSecrets } from './environment.js';

export interface Thrown {
  /** What threw, in a few words: `tool shop.orders.status`, `planner of shop.desk`. */
  what: string;
  error: unknown;
  run_id?: string;
  tool_call_id?: string;
  /** From 1. */
  attempt?: number;
  /** The attempt before it threw the same. */
  repeated?: boolean;
}

export type ReportThrown = (thrown: Thrown) => void;

const DEBUG_MESSAGE_BYTES = 8 * 1024;
/** Of an error with a whole response in its message, the rest is cut anyway; to look for secrets in it takes time. */
const SCRUBBED_CHARS = 16 * 1024;
const OF_THE_ENGINE = ['AbortError', 'TimeoutError', 'CancelledFailure', 'ServiceError'];
/** Their names say something, and nothing of what was at hand. */
const STANDARD = [
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'URIError',
  'EvalError',
  'AggregateError',
];

/** Errors that nobody meant: not those by which a tool or the runtime says what went wrong, nor an abort. */
export function isUnexpected(error: unknown): boolean {
  if (isToolError(error) || isPerdureError(error)) return false;
  return !(error instanceof Error && (OF_THE_ENGINE.includes(error.name) || isGrpc(error)));
}

/** The Temporal server did not answer, which is nobody's code. */
function isGrpc(error: Error): boolean {
  const { code, details, cause } = error as { code?: unknown; details?: unknown; cause?: unknown };
  return (typeof code === 'number' && typeof details === 'string') || (cause instanceof Error && isGrpc(cause));
}

/** All that is said of it to the model and to users. */
export function failedUnexpectedly(what: string, error: unknown): string {
  const kind = error instanceof Error && STANDARD.includes(error.name) ? ` (${error.name})` : '';
  return `${what} failed unexpectedly${kind}`;
}

export interface FailedCall {
  failure: ToolFailure;
  /** For `agent_debug`. */
  debug_message?: string;
}

/** `what` was being done for the call. What was thrown on purpose says itself what may be said of it. */
export function failedCall(what: string, error: unknown): FailedCall {
  if (isToolError(error)) {
    const { kind, message, issues, cause } = error;
    const failure = toolFailure(kind, withoutSecrets(message), issues);
    return cause instanceof Unsaid ? { failure, debug_message: debugMessage(cause.cause) } : { failure };
  }
  if (isPerdureError(error) && isOfTheHouse(error.code)) {
    return { failure: toolFailure('internal', `${what} failed (${error.code}).`), debug_message: debugMessage(error) };
  }
  if (isPerdureError(error)) {
    return { failure: toolFailure('internal', withoutSecrets(`${what} failed: ${error.message}`)) };
  }
  return {
    failure: toolFailure('internal', `${failedUnexpectedly(what, error)}.`),
    debug_message: debugMessage(error),
  };
}

/** The messages of these name places, hosts and keys of the deployment, which are nobody's outside of it to know. */
function isOfTheHouse(code: ErrorCode): boolean {
  return STORAGE_ERRORS.includes(code) || code.startsWith('server_') || code.startsWith('database_');
}

/** The cause of a ToolError of the runtime's own, for the debug field. */
export class Unsaid extends Error {
  override readonly name = 'Unsaid';
}

/** With its stack and those of its causes, up to 8 KiB. */
export function debugMessage(error: unknown): string {
  const bytes = Buffer.from(withoutSecrets(stacks(error).slice(0, SCRUBBED_CHARS)));
  if (bytes.length <= DEBUG_MESSAGE_BYTES) return bytes.toString();
  // A character that is cut through decodes to one that says so.
  const kept = bytes.subarray(0, DEBUG_MESSAGE_BYTES - 8).toString();
  return `${kept.replace(/�+$/, '')}\n…`;
}

function stacks(error: unknown, seen: readonly unknown[] = []): string {
  if (!(error instanceof Error)) return String(error);
  const own = (error.stack ?? `${error.name}: ${error.message}`).replaceAll(/\?namespace=\d+/g, '');
  if (error.cause === undefined || seen.includes(error.cause)) return own;
  return `${own}\ncaused by: ${stacks(error.cause, [...seen, error])}`;
}
