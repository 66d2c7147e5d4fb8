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
  const reader = body.getReader();
  outgoing.once('close', () => void reader.cancel().catch(() => outgoing.destroy()));
  try {
    outgoing.writeHead(status, Object.fromEntries(headers));
    outgoing.flushHeaders();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (!outgoing.write(part.value)) await drained(outgoing);
    }
    outgoing.end();
  } catch {
    // Whoever made the stream has said why it failed; to the client there is nothing more to say.
    outgoing.destroy();
  }
}

/** Or gone. Not a race with a promise of the end: one that is open for days would hold a reaction of every wait. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.once('drain', done).once('close', done);
    if (outgoing.closed) done();
  });
}
