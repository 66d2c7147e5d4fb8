/**
 * What a server writes on its standard error, for the worker's log: line by line, and bounded, since it is not ours.
 * The last lines are kept: why a server would not start is mostly in them.
 */
const MAX_CHARS = 500;
const MAX_LINES = 100;
const WINDOW_MS = 10_000;
const KEPT_LINES = 5;

export interface LogLines {
  add(chunk: string): void;
  /** The end of the output: a last line may have no break. */
  end(): void;
  last(): readonly string[];
}

export function createLogLines(write: (line: string) => void): LogLines {
  let open = '';
  let kept: string[] = [];
  let since = Date.now();
  let written = 0;
  let leftOut = 0;

  const line = (text: string) => {
    const shown = text
      .slice(0, MAX_CHARS)
      .replaceAll(/\p{Cc}/gu, ' ')
      .trimEnd();
    if (shown === '') return;
    kept = [...kept, shown].slice(-KEPT_LINES);
    if (Date.now() - since > WINDOW_MS) {
      if (leftOut > 0) write(`(${leftOut} lines were left out)`);
      since = Date.now();
      written = 0;
      leftOut = 0;
    }
    if (written < MAX_LINES) write(shown);
    else leftOut += 1;
    written += 1;
  };

  return {
    add(chunk) {
      const [first = '', ...rest] = chunk.split('\n');
      open = (open + first.slice(0, MAX_CHARS)).slice(0, MAX_CHARS);
      for (const next of rest) {
        line(open);
        open = next.slice(0, MAX_CHARS);
      }
    },
    end() {
      line(open);
      open = '';
      if (leftOut > 0) write(`(${leftOut} lines were left out)`);
      leftOut = 0;
    },
    last: () => kept,
  };
}
