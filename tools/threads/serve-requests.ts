/** The side of a thread: one request after another, each answered with a value or with what was thrown. */
import { parentPort } from 'node:worker_threads';

export type Answer = { ready: true } | { value: unknown } | { error: string };

export function serveRequests(answer: (request: unknown) => unknown): void {
  const port = parentPort;
  if (port === null) throw new Error('this file is for a thread');
  const say = (what: Answer) => port.postMessage(what);
  port.on('message', (request: unknown) => {
    try {
      say({ value: answer(request) });
    } catch (error) {
      say({ error: error instanceof Error ? error.message : String(error) });
    }
  });
  say({ ready: true });
}
