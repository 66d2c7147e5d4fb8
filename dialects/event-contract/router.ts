/**
 * The consumer's side of `seeds/event-contract.md`, for browsers and everything else: lines in, places in a user
 * interface out. It throws at nothing that comes over the wire, and keeps runs apart by `run_id`.
 *
 * R1  The routing order is the contract's, to the letter.
 * R2  A field is read only from an event type that owns it.
 * R3  Deprecated and unknown types are passed over in silence, so that a stream may grow; so are objects without a
 *     type, which are what a transport says beside the contract.
 * R4  An entry that is being gathered is given out at `status: complete`, at `error` and at the end of the stream.
 */
import { createLineParser } from './parse-lines.js';
import { createContentRouter } from './route-content.js';
import { isRouted, routeEvent } from './route-event.js';
import { textField } from './routed.js';
import type { Routed, WireEvent } from './routed.js';

export interface Router {
  /** A piece of an NDJSON stream, cut anywhere. */
  push(chunk: string | Uint8Array): Routed[];
  /** An event that somebody else has parsed. */
  accept(event: unknown): Routed[];
  /** The stream is over, whether or not the run is. */
  end(): Routed[];
}

export function createRouter(): Router {
  const lines = createLineParser();
  const chat = createContentRouter();
  const files = new Set<string>();
  let brokenLines = 0;

  const broken = (line: string, reason: string): Routed[] => [{ to: 'broken', count: ++brokenLines, line, reason }];

  function accept(event: unknown): Routed[] {
    if (typeof event !== 'object' || event === null) return broken(String(event).slice(0, 200), 'it is no object');
    const { type, run_id } = event as WireEvent;
    if (type === undefined) return [];
    if (typeof type !== 'string') return broken('', 'its type is no text');
    if (typeof run_id !== 'string') return isRouted(type) ? broken('', `a ${type} has no run_id`) : [];
    return route(event as WireEvent, type, run_id);
  }

  function route(event: WireEvent, type: string, run_id: string): Routed[] {
    if (type === 'content') return chat.route(run_id, textField(event, 'content'));
    if (type === 'error') return [...chat.flush(run_id), { to: 'error', run_id, error: textField(event, 'error') }];
    if (type === 'status') {
      const isEnd = event['status'] === 'complete' || event['status'] === 'inference_complete';
      return isEnd ? [...chat.flush(run_id), { to: 'done', run_id }] : [];
    }
    if (type === 'generated_file' || type === 'code_interpreter_file') {
      const key = `${run_id} ${textField(event, 'file_id')}`;
      if (files.has(key)) return [];
      files.add(key);
    }
    return routeEvent(event, type, run_id);
  }

  return {
    push: (chunk) => lines.push(chunk).flatMap(take),
    accept,
    end: () => [...lines.end().flatMap(take), ...chat.flushAll()],
  };

  function take(line: ReturnType<typeof lines.end>[number]): Routed[] {
    return 'object' in line ? accept(line.object) : broken(line.broken, line.reason);
  }
}
