/** Every event of the stream as one line of JSON on stdout, and nothing else there. */
import type { RunView } from './run-view.js';

export function createJsonView(out: NodeJS.WritableStream, errors: NodeJS.WritableStream): RunView {
  return {
    event: (event) => void out.write(`${JSON.stringify(event)}\n`),
    note: (line) => void errors.write(`${line}\n`),
    hint: (text) => void errors.write(`${text}\n`),
    prompt: () => {},
    end: () => {},
  };
}
