/** What a bad reply, or none, means for the call: whether it is worth another try, and what the model can do. */
import { ToolError } from '../../../kit/tool-error.js';
import { shown } from './check-url.js';

export function checkStatus(url: URL, status: number, retryAfter: string): void {
  if (status >= 200 && status < 300) return;
  const page = shown(url);
  if (status === 429) {
    const wait = retryAfter === '' ? '' : ` It asks to wait: ${retryAfter.slice(0, 40)}.`;
    throw new ToolError('rate_limited', `${page} answered 429, too many requests.${wait}`);
  }
  if (status === 401 || status === 403 || status === 451)
    throw new ToolError('denied', `${page} answered ${status}: it is not open to us. Use another source.`);
  if (status >= 500)
    throw new ToolError('unavailable', `${page} answered ${status}: the server has a problem.`, { retryable: true });
  throw new ToolError('unavailable', `${page} answered ${status}: there is no such page. Check the URL, or search.`);
}

interface NetworkFault {
  why: string;
  kind?: 'timeout';
  retryable?: boolean;
}

const FAULTS: Readonly<Record<string, NetworkFault>> = {
  ENOTFOUND: { why: 'there is no such host' },
  EAI_AGAIN: { why: 'the name could not be looked up', retryable: true },
  ECONNREFUSED: { why: 'the connection was refused', retryable: true },
  ECONNRESET: { why: 'the connection was reset', retryable: true },
  UND_ERR_SOCKET: { why: 'the connection was cut', retryable: true },
  UND_ERR_HEADERS_TIMEOUT: { why: 'the server sent no headers in time', kind: 'timeout' },
  UND_ERR_BODY_TIMEOUT: { why: 'the server stopped sending', kind: 'timeout' },
  UND_ERR_HEADERS_OVERFLOW: { why: 'its headers are too large' },
};

export function networkError(url: URL, error: unknown): ToolError {
  const code = (error as { code?: unknown }).code;
  const {
    why,
    kind,
    retryable = kind === 'timeout',
  } = FAULTS[typeof code === 'string' ? code : ''] ?? {
    why: error instanceof Error ? error.message : String(error),
  };
  return new ToolError(kind ?? 'unavailable', `${shown(url)} could not be fetched: ${why}.`, {
    retryable,
    cause: error,
  });
}
