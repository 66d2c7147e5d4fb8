/** Calls of the gateway: addresses, the token, and answers that are no success as errors of the contract. */
import { PerdureError } from '../../contract/errors.js';
import { errorOf } from './gateway-error.js';

export interface GatewayCalls {
  /** The whole address of a path. */
  address(path: string): string;
  get<T>(path: string, query?: Query): Promise<T>;
  post<T>(path: string, body: unknown, headers?: Record<string, string>): Promise<T>;
  put<T>(path: string, body: unknown): Promise<T>;
  delete<T>(path: string): Promise<T>;
  /** A request that the gateway took; throws what it refused. */
  open(path: string, query: Query, signal: AbortSignal): Promise<Response>;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Headers as a plain record: ours are added to them. */
type Init = Omit<RequestInit, 'headers'> & { headers: Record<string, string> };

interface CallOptions {
  url: string;
  token?: string;
  fetch?: typeof fetch;
}

export function createGatewayCalls({ url, token, fetch: given }: CallOptions): GatewayCalls {
  const base = baseOf(url);
  // Called as a method of ours, a browser's own would refuse.
  const send: typeof fetch = given ?? ((...request) => fetch(...request));
  const credentials: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };

  async function call(path: string, query: Query, init: Init): Promise<Response> {
    const address = `${base}${path}${written(query)}`;
    const response = await send(address, { ...init, headers: { ...credentials, ...init.headers } }).catch(
      (error: unknown) => {
        throw unreachable(base, error);
      },
    );
    if (response.ok) return response;
    throw await errorOf(response);
  }

  async function change<T>(method: string, path: string, body: unknown, more: Record<string, string> = {}): Promise<T> {
    const written = body === undefined ? {} : { body: JSON.stringify(body) };
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { accept: 'application/json', ...type, ...more };
    const response = await call(path, {}, { method, headers, ...written });
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  return {
    address: (path) => `${base}${path}`,
    async get<T>(path: string, query: Query = {}) {
      const response = await call(path, query, { headers: { accept: 'application/json' } });
      return (await response.json()) as T;
    },
    post: <T>(path: string, body: unknown, headers = {}) => change<T>('POST', path, body, headers),
    put: <T>(path: string, body: unknown) => change<T>('PUT', path, body),
    delete: <T>(path: string) => change<T>('DELETE', path, undefined),
    open: (path, query, signal) => call(path, query, { signal, headers: { accept: 'application/x-ndjson' } }),
  };
}

function baseOf(url: string): string {
  const { protocol } = new URL(url);
  if (protocol === 'http:' || protocol === 'https:') return url.replace(/\/+$/, '');
  throw new PerdureError('invalid_request', `url: "${url}" is no address of a gateway, such as http://127.0.0.1:2700`);
}

function written(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string | number | boolean] => {
    return entry[1] !== undefined;
  });
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** What Node says of its sockets; a browser says nothing. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  ENOTFOUND: 'its host is not known',
  EAI_AGAIN: 'its host is not known',
  ETIMEDOUT: 'its host does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'its host does not answer',
};

function unreachable(base: string, error: unknown): PerdureError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code = '' } = (cause ?? {}) as { code?: string };
  const why = REASONS[code] ?? (cause instanceof Error ? cause.message : String(cause));
  const what = `the gateway at ${base} gave no answer: ${why}${hintForPages(base)}`;
  return new PerdureError('server_unreachable', what, { cause: error });
}

/** A browser does not tell its page why: what stands before the gateway may answer without its leave to be read. */
function hintForPages(base: string): string {
  const { location } = globalThis as { location?: { origin?: string } };
  if (location?.origin === undefined || location.origin === new URL(base).origin) return '';
  return `. If it is up, a proxy before it may not let pages of ${location.origin} read its answers`;
}
