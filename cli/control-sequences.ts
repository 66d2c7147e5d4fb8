/**
 * Texts of models, tools and servers are shown, never obeyed: no control sequence of theirs goes to a terminal, nor on a
 * pipe, at whose end there may be one.
 */
import { stripVTControlCharacters } from 'node:util';

/** Those that hold a text (OSC and its like) and CSI, in either of their forms; Node knows the most usual ones only. */
const SEQUENCES =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;

/** Lines and tabs stay. */
export function withoutControls(text: string): string {
  return (
    stripVTControlCharacters(text.replaceAll(SEQUENCES, ''))
      .replaceAll('\r\n', '\n')
      // oxlint-disable-next-line no-control-regex -- as above
      .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '')
  );
}

/** The beginning of a sequence (CSI, or OSC and those that end as it does) of which the rest has not come yet. */
const UNFINISHED =
  // oxlint-disable-next-line no-control-regex -- as above
  /(?:\x1b|(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*\x1b?)$/;
/** What is longer is no sequence that somebody is still writing: it is shown, as the text that is left of it. */
const LONGEST = 4_096;

export interface ControlsFilter {
  /** As much of the text as is known to be text. */
  next(piece: string): string;
  /** What was held back. */
  rest(): string;
}

/** The same for a text that comes in pieces, and may be cut within a sequence. */
export function createControlsFilter(): ControlsFilter {
  let held = '';
  return {
    next(piece) {
      const text = held + piece;
      const at = UNFINISHED.exec(text)?.index ?? text.length;
      held = text.length - at > LONGEST ? '' : text.slice(at);
      return withoutControls(held === '' ? text : text.slice(0, at));
    },
    rest() {
      const rest = withoutControls(held);
      held = '';
      return rest;
    },
  };
}

/** JSON writes most of them as escapes by itself; these it does not, and some terminals obey them. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(
    /[\x7f-\x9f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
}
