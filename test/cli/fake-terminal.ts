/** A terminal of so many columns and rows that obeys what the view sends, and remembers what scrolled away. */
import type { WriteStream } from 'node:tty';

export interface FakeTerminal {
  stream: WriteStream;
  /** What can be seen and scrolled back to. */
  text(): string;
  /** What can be seen. */
  screen(): string;
}

export function createFakeTerminal(columns = 60, rows = 10): FakeTerminal {
  let lines: string[] = [''];
  let row = 0;
  let column = 0;
  /** Lines above this one have scrolled away: the cursor cannot go there. */
  const top = () => Math.max(0, lines.length - rows);

  function put(character: string): void {
    if (column >= columns) newLine();
    const line = (lines[row] ?? '').padEnd(column);
    lines[row] = line.slice(0, column) + character + line.slice(column + 1);
    column += 1;
  }

  function newLine(): void {
    row += 1;
    column = 0;
    lines[row] ??= '';
  }

  function write(data: string): boolean {
    // oxlint-disable-next-line no-control-regex -- escape sequences are what a terminal reads
    for (const [token] of data.matchAll(/\x1b\[[?\d;]*[A-Za-z]|[^]/gu)) {
      const up = token.startsWith('\x1b[') && token.endsWith('A') ? Number(token.slice(2, -1)) : 0;
      if (up > 0) row = Math.max(top(), row - up);
      else if (token === '\x1b[K') lines[row] = (lines[row] ?? '').slice(0, column);
      else if (token === '\x1b[J') lines = [...lines.slice(0, row), (lines[row] ?? '').slice(0, column)];
      else if (token === '\r') column = 0;
      else if (token === '\n') newLine();
      else if (!token.startsWith('\x1b')) put(token);
    }
    return true;
  }

  const shown = (from: number) =>
    lines
      .slice(from)
      .map((line) => line.trimEnd())
      .join('\n');
  return {
    stream: { isTTY: true, columns, rows, write } as unknown as WriteStream,
    text: () => shown(0),
    screen: () => shown(top()),
  };
}
