/** What a stream can show: colours, and whether what was written can be taken back. */
import type { Output } from './own-output.js';

export interface Styles {
  dim(text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  strike(text: string): string;
  cyan(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

type Stream = Pick<Output, 'isTTY'>;

/** A terminal on which the cursor can go back. */
export function isLive(stream: Stream): boolean {
  return stream.isTTY && process.env['TERM'] !== 'dumb';
}

/** https://no-color.org: any value that is not empty counts. */
export function stylesFor(stream: Stream): Styles {
  const plain = !isLive(stream) || (process.env['NO_COLOR'] ?? '') !== '';
  const style = (on: number, off: number) => (text: string) =>
    plain || text === '' ? text : `\x1b[${on}m${text}\x1b[${off}m`;
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    italic: style(3, 23),
    underline: style(4, 24),
    strike: style(9, 29),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  };
}
