/**
 * The body of a streaming response, at the pace of its reader.
 *
 * R1  Nothing is read ahead but one event: what a slow reader has not taken waits in its subscription, which is
 *     bounded.
 * R2  A chunk holds all that is ready, up to a size: one who catches up is not sent thousands of packets.
 * R3  After a silence there is a heartbeat, as long as the reader takes what it is sent.
 * R4  It is closed only behind the last word. Whatever else ends it is an error, which destroys the connection.
 */
export interface BodySource {
  /** The text of the next event, '' where it has none; the last one is done. */
  next(): Promise<{ text: string; done: boolean }>;
}

export interface BodyOptions {
  source: BodySource;
  heartbeat: string;
  heartbeatMs: number;
  now: () => number;
  /** The reader is gone. */
  onCancel(): void;
  /** Nothing more will be sent: with an error where it was cut. */
  onEnd(error?: unknown): void;
}

export interface Body {
  readable: ReadableStream<Uint8Array>;
  /** The reader is gone, as another one than it tells us. */
  abandon(reason: unknown): void;
}

type Arrival = { text: string; done: boolean } | { error: unknown };

const CHUNK_CHARS = 32 * 1024;
const encoder = new TextEncoder();

export function createBody({ source, heartbeat, heartbeatMs, now, onCancel, onEnd }: BodyOptions): Body {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let over = false;
  let asked = false;
  let arrived: Arrival | undefined;
  let wake: (() => void) | undefined;

  function ask(): void {
    if (asked) return;
    asked = true;
    const arrive = (arrival: Arrival) => {
      arrived = arrival;
      wake?.();
    };
    source.next().then(arrive, (error: unknown) => arrive({ error }));
  }

  function take(): Arrival | undefined {
    const taken = arrived;
    if (taken !== undefined) asked = false;
    arrived = undefined;
    return taken;
  }

  /** Not a race of promises: one that waits for days would hold a reaction of every heartbeat. */
  async function wait(milliseconds: number): Promise<Arrival | undefined> {
    ask();
    if (arrived === undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = undefined;
    }
    return take();
  }

  /** What is there after one turn of the event loop. */
  async function soon(): Promise<Arrival | undefined> {
    ask();
    await new Promise((resolve) => setImmediate(resolve));
    // An error waits for its own turn: first goes out what came before it.
    return arrived !== undefined && 'error' in arrived ? undefined : take();
  }

  async function pull(): Promise<void> {
    const deadline = now() + heartbeatMs;
    let text = '';
    while (!over) {
      const arrival = text === '' ? await wait(Math.max(0, deadline - now())) : await soon();
      if (over) return;
      if (arrival === undefined) return controller?.enqueue(encoder.encode(text === '' ? heartbeat : text));
      if ('error' in arrival) return destroy(arrival.error);
      text += arrival.text;
      if (arrival.done) return finish(text);
      if (text.length >= CHUNK_CHARS) return controller?.enqueue(encoder.encode(text));
    }
  }

  function finish(text: string): void {
    over = true;
    if (text !== '') controller?.enqueue(encoder.encode(text));
    controller?.close();
    onEnd();
  }

  function destroy(error: unknown): void {
    if (over) return;
    over = true;
    wake?.();
    controller?.error(prematureClose(error));
    onEnd(error);
  }

  function abandon(reason: unknown): void {
    if (over) return;
    over = true;
    wake?.();
    onCancel();
    onEnd();
    // Where the connection is gone, the server has canceled us by then; else it must not end as if all had been said.
    setImmediate(() => controller?.error(prematureClose(reason)));
  }

  const readable = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull,
      cancel: abandon,
    },
    { highWaterMark: 0 },
  );
  return { readable, abandon };
}

/** Under this code the server breaks the connection and no more; any other error it would write into the body. */
function prematureClose(cause: unknown): Error {
  const error = new Error('the stream was cut before its end', { cause });
  return Object.assign(error, { code: 'ERR_STREAM_PREMATURE_CLOSE' });
}
