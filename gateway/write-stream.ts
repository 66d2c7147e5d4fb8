/**
 * A stream into Node's response. The adapter would do it too, but it prints to the console where a stream is cut,
 * and may write the error into what the client reads.
 */
import type { ServerResponse } from 'node:http';

/** A body that fails cuts the connection: what was sent never looks complete. */
export async function writeStream(
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  outgoing.writeHead(status, Object.fromEntries(headers));
  outgoing.flushHeaders();
  const reader = body.getReader();
  const gone = new Promise<void>((resolve) => outgoing.once('close', resolve));
  void gone.then(() => reader.cancel()).catch(() => outgoing.destroy());
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (!outgoing.write(part.value)) await Promise.race([drained(outgoing), gone]);
    }
    outgoing.end();
  } catch {
    // Whoever made the stream has said why it failed; to the client there is nothing more to say.
    outgoing.destroy();
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => outgoing.once('drain', resolve));
}
