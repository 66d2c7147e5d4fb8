/**
 * The SDK reads an error of the shape `{ "error": … }` only, and of any other nothing but the status. Compatible
 * servers have shapes of their own (`detail`, `message`, plain text): they are put into that one.
 */
const MOST_CHARS = 2_000;

export function withErrorBody(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (address, init) => {
    const response = await fetch(address, init);
    if (response.ok) return response;
    const { status, statusText } = response;
    const text = await response.text();
    const headers = new Headers(response.headers);
    // Of the body as it was.
    for (const name of ['content-length', 'content-encoding']) headers.delete(name);
    if (hasError(text) || text.trim() === '') return new Response(text, { status, statusText, headers });
    headers.set('content-type', 'application/json');
    const body = JSON.stringify({ error: { message: text.slice(0, MOST_CHARS) } });
    return new Response(body, { status, statusText, headers });
  };
}

function hasError(text: string): boolean {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && 'error' in json;
  } catch {
    return false;
  }
}
