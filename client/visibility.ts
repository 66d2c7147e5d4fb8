/**
 * Pages of what Temporal's visibility lists. It lags behind: for people who browse, never for authorization.
 */
import { createHash } from 'node:crypto';
import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { PerdureError } from '../contract/errors.js';
import { unreachable } from './explain-error.js';

const DEADLINE_MS = 10_000;
const PAGE_SIZE = 50;
/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export type Execution = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>['executions'][number];

interface PageOptions {
  limit?: number | undefined;
  /** `next` of the page before, of the same listing. */
  cursor?: string | undefined;
}

export async function listExecutions(
  client: Client,
  query: string,
  { limit = PAGE_SIZE, cursor }: PageOptions,
): Promise<{ executions: Execution[]; next?: string }> {
  const nextPageToken = cursor === undefined ? undefined : readCursor(cursor, query);
  try {
    const page = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflowService.listWorkflowExecutions({
        namespace: client.options.namespace,
        pageSize: limit,
        query,
        ...(nextPageToken === undefined ? {} : { nextPageToken }),
      }),
    );
    const more = page.nextPageToken.length > 0;
    return { executions: page.executions, ...(more ? { next: writeCursor(page.nextPageToken, query) } : {}) };
  } catch (error) {
    throw explainListing(error);
  }
}

/**
 * Servers differ in how they read a quote or a backslash inside a text, by the database behind them. A text with
 * one is refused, so that nothing in it can ever be read as part of the query.
 */
export function quoted(field: string, value: string): string {
  // oxlint-disable-next-line no-control-regex
  if (!/['"`\\\u0000-\u001f\u007f]/.test(value)) return `'${value}'`;
  const message = 'must hold no quote, backslash or control character: nothing can be found by such a text';
  throw new PerdureError('invalid_request', `${field}: ${message}`, { issues: [{ path: field, message }] });
}

/** Bound to its query and to itself: the server takes a token of another listing, and fails at a broken one. */
function writeCursor(token: Uint8Array, query: string): string {
  const text = Buffer.from(token).toString('base64url');
  return `${fingerprint(query, text)}.${text}`;
}

function readCursor(cursor: string, query: string): Uint8Array {
  const [print, token = ''] = cursor.split('.');
  if (print !== fingerprint(query, token)) throw badCursor();
  return Buffer.from(token, 'base64url');
}

function badCursor(cause?: unknown): PerdureError {
  const message = 'is no cursor of this listing: ask again without one, or with the same filter as before';
  return new PerdureError('invalid_request', `cursor: it ${message}`, { issues: [{ path: 'cursor', message }], cause });
}

function fingerprint(query: string, token: string): string {
  return createHash('sha256').update(`${query}\n${token}`).digest('base64url').slice(0, 16);
}

function explainListing(error: unknown): Error {
  if (isGrpcServiceError(error) && error.code === INVALID_ARGUMENT) {
    if (!/search attribute/i.test(error.details)) return badCursor(error);
    return new PerdureError(
      'invalid_config',
      `nothing can be listed, since the namespace lacks our search attributes: ${error.details}`,
      { cause: error },
    );
  }
  return unreachable(error, 'to a listing') ?? (error instanceof Error ? error : new Error(String(error)));
}
