/** Every event of the stream as one line of JSON on stdout, and nothing else there. */
import { jsonText, withoutControls } from '../control-sequences.js';
import type { Output } from '../own-output.js';
import type { RunView } from './run-view.js';

export function createJsonView(out: Pick<Output, 'write'>, errors: Pick<Output, 'write'>): RunView {
  return {
    event: (event) => void out.write(`${jsonText(event)}\n`),
    note: (line) => void errors.write(`${withoutControls(line)}\n`),
    hint: (text) => void errors.write(`${withoutControls(text)}\n`),
    prompt: () => {},
    end: () => {},
  };
}
