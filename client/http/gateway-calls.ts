/** Calls of the gateway: addresses, the token, and answers that are no success as errors of the contract. */
import { PerdureError } from '../../contract/errors.js';
import { errorOf } from './gateway-error.js';

export interface GatewayCalls {
  /** The whole address of a path. */
  address(path: string): string;
  get<T>(path: string, query?: Query): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
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

  return {
    address: (path) => `${base}${path}`,
    async get<T>(path: string, query: Query = {}) {
      const response = await call(path, query, { headers: { accept: 'application/json' } });
      return (await response.json()) as T;
    },
    async post<T>(path: string, body: unknown) {
      const headers = { accept: 'application/json', 'content-type': 'application/json' };
      const response = await call(path, {}, { method: 'POST', headers, body: JSON.stringify(body) });
      const text = await response.text();
      return (text === '' ? undefined : JSON.parse(text)) as T;
    },
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

function unreachable(base: string, error: unknown): PerdureError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new PerdureError('server_unreachable', `the gateway at ${base} gave no answer: ${why}`, { cause: error });
}
