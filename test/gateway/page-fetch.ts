/** `fetch` as a browser gives it to a page: it asks first where it must, and an answer that names another origin is none. */

const SIMPLE_HEADERS = new Set(['accept', 'accept-language', 'content-language', 'range']);
const SIMPLE_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];
const SIMPLE_METHODS = ['GET', 'HEAD', 'POST'];

/** Of the Fetch standard, what concerns a page of `origin` that calls another site. */
export function pageFetch(origin: string): typeof fetch {
  return async (input, init = {}) => {
    const { method, headers, url } = new Request(input, init);
    const own = { origin, 'sec-fetch-site': 'cross-site' };
    const unusual = [...headers].flatMap(([name, value]) => (isSimple(name, value) ? [] : [name]));
    if (unusual.length > 0 || !SIMPLE_METHODS.includes(method)) {
      const asked = { 'access-control-request-method': method, 'access-control-request-headers': unusual.join(',') };
      const { ok, headers: leave } = await fetch(url, { method: 'OPTIONS', headers: { ...own, ...asked } });
      const methods = listed(leave, 'access-control-allow-methods');
      const names = listed(leave, 'access-control-allow-headers');
      const isAllowed = SIMPLE_METHODS.includes(method) || methods.includes(method.toLowerCase());
      if (!ok || !isNamed(leave, origin) || !isAllowed || !unusual.every((name) => names.includes(name))) fail();
    }
    const response = await fetch(url, { ...init, headers: { ...Object.fromEntries(headers), ...own } });
    return isNamed(response.headers, origin) ? response : fail();
  };
}

function isNamed(headers: Headers, origin: string): boolean {
  return ['*', origin].includes(headers.get('access-control-allow-origin') ?? '');
}

function listed(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? '').split(',').map((each) => each.trim().toLowerCase());
}

function isSimple(name: string, value: string): boolean {
  return SIMPLE_HEADERS.has(name) || (name === 'content-type' && SIMPLE_TYPES.includes(value.split(';')[0] ?? ''));
}

/** All that a page is told. */
function fail(): never {
  throw new TypeError('Failed to fetch');
}
