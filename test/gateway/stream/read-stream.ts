/** What comes over the socket, to the byte. */
export interface Reading {
  status: number;
  headers: Headers;
  text: string;
  /** The connection broke, and was not closed. */
  cut: boolean;
}

/** Reads to the end, or until the text so far is enough; then the connection is closed. */
export async function read(
  url: string,
  options: { headers?: Record<string, string>; enough?: (text: string) => boolean } = {},
): Promise<Reading> {
  const leaving = new AbortController();
  const response = await fetch(url, { signal: leaving.signal, headers: options.headers ?? {} });
  const { status, headers } = response;
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (options.enough?.(text) === true) {
        leaving.abort();
        break;
      }
    }
  } catch (error) {
    if (!leaving.signal.aborted) return { status, headers, text, cut: error instanceof Error };
  }
  return { status, headers, text, cut: false };
}

/** The lines of NDJSON that are whole, without heartbeats. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export interface ServerSentEvent {
  id?: string;
  event?: string;
  data: string;
}

export function serverSentEvents(text: string): ServerSentEvent[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks
    .filter((block) => !block.startsWith(':'))
    .map((block) => Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2))) as ServerSentEvent);
}
