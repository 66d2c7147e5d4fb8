/** What a stream can show: colours, and whether what was written can be taken back. */
import type { WriteStream } from 'node:tty';

export interface Styles {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

type Stream = Pick<WriteStream, 'isTTY'>;

/** A terminal on which the cursor can go back. */
export function isLive(stream: Stream): boolean {
  return stream.isTTY && process.env['TERM'] !== 'dumb';
}

/** https://no-color.org: any value that is not empty counts. */
export function stylesFor(stream: Stream): Styles {
  const plain = !isLive(stream) || (process.env['NO_COLOR'] ?? '') !== '';
  const style = (on: number, off: number) => (text: string) =>
    plain || text === '' ? text : `\x1b[${on}m${text}\x1b[${off}m`;
  return { dim: style(2, 22), bold: style(1, 22), red: style(31, 39), green: style(32, 39), yellow: style(33, 39) };
}
