/** A URL before anything is done with it: what it may be, and how two spellings of one page are told to be the same. */
import { ToolError } from '../../../kit/tool-error.js';
import { parseAddress } from './address-rules.js';
import { plainHost } from './web-access.js';
import type { Endpoint, WebAccess } from './web-access.js';

const MAX_URL_CHARS = 2_048;

/** Decimal, octal, hex and short forms of an address are its dotted form here: the URL parser writes them so. */
export function checkUrl(text: string, access: WebAccess, base?: URL): URL {
  const url = parse(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw denied(url, `${url.protocol.slice(0, -1)} is not allowed, only http and https are`);
  if (url.username !== '' || url.password !== '')
    throw denied(url, 'a URL with a user name or a password is not allowed');
  const endpoint = endpointOf(url);
  const refusal =
    access.refusesHost(endpoint) ??
    (parseAddress(endpoint.host) === undefined ? undefined : access.refusesAddress(endpoint.host, endpoint));
  if (refusal !== undefined) throw denied(url, refusal);
  return url;
}

export function endpointOf(url: URL): Endpoint {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host: plainHost(url.hostname), port };
}

/**
 * The page's name for counting and for the cache: without the fragment, the default port, upper case in the host and
 * a dot behind it. The query stays as it is: it may be another page.
 */
export function pageKey(text: string): string {
  const url = parse(text);
  url.hash = '';
  url.hostname = url.hostname.replace(/\.+$/, '');
  return url.href;
}

export function denied(url: URL | string, why: string): ToolError {
  return new ToolError('denied', `${shown(url)} was not fetched: ${why}. Use another source.`);
}

/** Without what must not be repeated: secrets before the host. */
export function shown(url: URL | string): string {
  if (typeof url === 'string') return url.slice(0, 200);
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  return copy.href.slice(0, 200);
}

function parse(text: string, base?: URL): URL {
  if (text.length > MAX_URL_CHARS)
    throw new ToolError('invalid_call', `The URL has ${text.length} characters; the limit is ${MAX_URL_CHARS}.`);
  if (!URL.canParse(text, base?.href))
    throw new ToolError(
      'invalid_call',
      `"${text.slice(0, 200)}" is no URL. Give a whole one, like https://example.org/.`,
    );
  return new URL(text, base?.href);
}
