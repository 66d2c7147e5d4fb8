/**
 * The one connection of a worker to a server: opened by the first call, shared by all, opened anew when it broke.
 *
 * M1  Whoever waits for the connection can stop waiting; the opening goes on for the others.
 * M2  A server over HTTP that has forgotten the session has done nothing of the request: it is sent once more.
 * M3  A server that let a call run into its time limit, and then does not even answer a ping, is closed: the next
 *     call starts it anew. Not while other calls are under way, which it may be busy with.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

export interface ConnectionOptions {
  openTransport(): Transport;
  connectTimeoutMs: number;
  /** For the worker's log. */
  report: (line: string) => void;
  /** Says goodbye where there is more to do than to close. */
  leave?: (transport: Transport) => Promise<void>;
}

export interface Connection {
  use<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The server could not be reached at all: nothing was asked of it. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

const PING_MS = 5_000;
/** Answers to calls that were given up; nothing is wrong with them. */
const HARMLESS = /^Received a (?:response for an unknown message ID|progress notification for an unknown token)/;

export function createConnection(options: ConnectionOptions): Connection {
  const { openTransport, connectTimeoutMs, report, leave } = options;
  let current: Promise<{ client: Client; transport: Transport }> | undefined;
  let isClosed = false;
  let underWay = 0;

  async function open() {
    const transport = openTransport();
    const client = new Client({ name: 'perdure', version: '0' });
    client.onerror = ({ message }) => {
      if (!HARMLESS.test(message)) report(message.slice(0, 500));
    };
    client.onclose = () => forget(client);
    try {
      await client.connect(transport, { timeout: connectTimeoutMs });
    } catch (error) {
      await transport.close();
      throw new ConnectError(reasonOf(error, connectTimeoutMs), { cause: error });
    }
    return { client, transport };
  }

  let opened: Client | undefined;
  function connect() {
    if (isClosed) throw new ConnectError('the worker is shutting down');
    if (current === undefined) {
      const mine = open();
      current = mine;
      mine.then(
        ({ client }) => (opened = client),
        () => {
          if (current === mine) current = undefined;
        },
      );
    }
    return current;
  }

  function forget(client: Client): void {
    if (opened !== client) return;
    opened = undefined;
    current = undefined;
  }

  async function probe(client: Client): Promise<void> {
    try {
      await client.ping({ timeout: PING_MS });
    } catch (error) {
      const isSilent = !(error instanceof McpError) || error.code === ErrorCode.RequestTimeout;
      if (!isSilent || underWay > 0 || opened !== client) return;
      report(`it does not answer any more, and is closed`);
      forget(client);
      await client.close();
    }
  }

  async function attempt<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    const { client } = await unlessAborted(connect(), signal);
    try {
      return await work(client);
    } catch (error) {
      if (isLost(error)) forget(client);
      if (signal.aborted && underWay === 1) void probe(client);
      throw error;
    }
  }

  return {
    async use(signal, work) {
      underWay += 1;
      try {
        return await attempt(signal, work).catch((error: unknown) => {
          if (!isForgotten(error)) throw error;
          return attempt(signal, work);
        });
      } finally {
        underWay -= 1;
      }
    },
    async close() {
      isClosed = true;
      const last = await current?.catch(() => undefined);
      if (last === undefined) return;
      await leave?.(last.transport);
      await last.client.close();
    },
  };
}

/** It said that it does not know the session: by the protocol with 404, many servers with 400. */
function isForgotten(error: unknown): boolean {
  return error instanceof StreamableHTTPError && (error.code === 404 || error.code === 400);
}

/** Not an answer of the server: the connection is no good any more. */
function isLost(error: unknown): boolean {
  if (error instanceof McpError) return error.code === ErrorCode.ConnectionClosed;
  return error instanceof StreamableHTTPError ? isForgotten(error) : error instanceof TypeError;
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof McpError && error.code === ErrorCode.RequestTimeout) return `no answer within ${timeoutMs} ms`;
  if (error instanceof McpError && error.code === ErrorCode.ConnectionClosed) return 'it ended before it answered';
  const { code, cause, message } = error as Error & { code?: unknown; cause?: { code?: unknown; message?: string } };
  if (code === 'ENOENT') return `${message}: its command or its cwd is not there (PATH is only what env gives it)`;
  return cause?.message === undefined ? message : `${message} (${cause.message})`;
}
