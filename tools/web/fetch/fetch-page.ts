/**
 * One page over the network, by GET, without cookies, credentials or a proxy. Every redirect is a new URL with the
 * same checks. The connections of a page end with it.
 */
import { Agent, request } from 'undici';
import { parseDuration } from '../../../contract/durations.js';
import { PerdureError } from '../../../contract/errors.js';
import { ToolError, isToolError } from '../../../kit/tool-error.js';
import { checkUrl, shown } from './check-url.js';
import { checkMediaType } from './media-type.js';
import type { MediaType } from './media-type.js';
import { REAL_NETWORK, guardedConnector } from './guarded-connector.js';
import type { Network } from './guarded-connector.js';
import { ACCEPT_ENCODING, readBody } from './read-body.js';
import { checkStatus, networkError } from './reply-errors.js';
import { createWebAccess } from './web-access.js';
import type { AccessOptions } from './web-access.js';

export interface FetchOptions extends AccessOptions {
  /** For the whole page, redirects included; 20 s by default. */
  timeout?: number | string;
  /** For one connection; 5 s by default. */
  connect_timeout?: number | string;
  /** Until the headers are there, and between two pieces of a body; 10 s by default. */
  idle_timeout?: number | string;
  /** 5 by default. */
  max_redirects?: number;
  /** Of a reply on the wire; 4 MiB by default. */
  max_bytes?: number;
  /** Of a reply after decompression; 8 MiB by default. */
  max_text_bytes?: number;
  user_agent?: string;
}

export interface FetchedPage extends MediaType {
  /** After redirects. */
  url: string;
  bytes: Buffer;
  /** The server asks not to keep it. */
  no_store: boolean;
}

export type FetchPage = (url: string, signal: AbortSignal) => Promise<FetchedPage>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const ACCEPT =
  'text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1';

export function createFetchPage(options: FetchOptions = {}, network: Network = REAL_NETWORK): FetchPage {
  const access = createWebAccess(options);
  const milliseconds = (field: 'timeout' | 'connect_timeout' | 'idle_timeout', fallback: number) => {
    const value = parseDuration(options[field] ?? fallback);
    if (value === undefined)
      throw new PerdureError('invalid_config', `The web tools' ${field} is "${options[field]}", which is no duration.`);
    return value;
  };
  const timeoutMs = milliseconds('timeout', 20_000);
  const idleMs = milliseconds('idle_timeout', 10_000);
  const connector = guardedConnector(access, milliseconds('connect_timeout', 5_000), network);
  const { max_redirects = 5, max_bytes = 4 * 1024 * 1024, max_text_bytes = 8 * 1024 * 1024 } = options;
  const headers = {
    'user-agent': options.user_agent ?? 'Perdure (agent runtime; reads pages for its users)',
    accept: ACCEPT,
    'accept-encoding': ACCEPT_ENCODING,
  };

  /** One request: a page, or where it has gone. */
  async function get(url: URL, agent: Agent, signal: AbortSignal): Promise<FetchedPage | { location: string }> {
    const reply = await request(url, { dispatcher: agent, headers, signal });
    try {
      const header = (name: string) => String(reply.headers[name] ?? '');
      if (REDIRECTS.has(reply.statusCode)) return { location: header('location') };
      checkStatus(url, reply.statusCode, header('retry-after'));
      const media = checkMediaType(url, header('content-type'));
      const length = header('content-length');
      const described = { encoding: header('content-encoding'), length: length === '' ? undefined : Number(length) };
      const bytes = await readBody(reply.body as AsyncIterable<Buffer>, described, { max_bytes, max_text_bytes });
      return { url: url.href, ...media, bytes, no_store: /\bno-store\b/i.test(header('cache-control')) };
    } finally {
      reply.body.on('error', () => undefined).destroy();
    }
  }

  return async (text, outer) => {
    let url = checkUrl(text, access);
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([outer, timeout]);
    const agent = new Agent({ connect: connector, headersTimeout: idleMs, bodyTimeout: idleMs });
    try {
      for (let redirects = 0; redirects <= max_redirects; redirects += 1) {
        const reply = await get(url, agent, signal);
        if (!('location' in reply)) return reply;
        if (reply.location === '')
          throw new ToolError('unavailable', `${shown(url)} redirects to nowhere: the reply names no location.`);
        url = checkUrl(reply.location, access, url);
      }
      throw new ToolError('unavailable', `${text.slice(0, 200)} redirects more than ${max_redirects} times.`);
    } catch (error) {
      if (outer.aborted || isToolError(error)) throw error;
      if (timeout.aborted) throw new ToolError('timeout', `${shown(url)} took longer than ${timeoutMs} ms.`);
      throw networkError(url, error);
    } finally {
      await agent.destroy();
    }
  };
}
