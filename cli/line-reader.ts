/** One line from the keyboard, edited where the view shows it: the view goes on being redrawn meanwhile. */
import { emitKeypressEvents } from 'node:readline';
import type { Key } from 'node:readline';
import type { ReadStream } from 'node:tty';

export interface LineReader {
  /**
   * `show` gets the text as it is, after each key. Undefined when the signal aborts, or at a Ctrl-D on an empty line.
   * A draft is what the line begins with, and is kept up to date.
   */
  read(show: (text: string) => void, signal: AbortSignal, draft?: Draft): Promise<string | undefined>;
}

export interface Draft {
  text: string;
}

type Keyboard = Pick<ReadStream, 'setRawMode' | 'resume' | 'pause' | 'on' | 'off'>;

const CURSOR = '▏';

/** In raw mode the terminal sends Ctrl-C as a key, and no signal. */
export function readKeyboard(): LineReader {
  return createLineReader(process.stdin, () => process.kill(process.pid, 'SIGINT'));
}

export function createLineReader(keyboard: Keyboard, interrupt: () => void): LineReader {
  let prepared = false;
  return {
    async read(show, signal, draft) {
      if (!prepared) emitKeypressEvents(keyboard as ReadStream);
      prepared = true;
      let [before, after] = [draft?.text ?? '', ''];
      let finish: (text: string | undefined) => void = () => {};
      const onKey = (text: string | undefined, key: Key) => {
        if (key.ctrl === true && key.name === 'c') return interrupt();
        if (key.ctrl === true && key.name === 'd' && before + after === '') return finish(undefined);
        if (key.name === 'return' || key.name === 'enter') return finish(before + after);
        [before, after] = edited(before, after, text ?? '', key);
        if (draft !== undefined) draft.text = before + after;
        show(`${before}${CURSOR}${after}`);
      };
      const onAbort = () => finish(undefined);
      try {
        return await new Promise<string | undefined>((resolve) => {
          finish = resolve;
          if (signal.aborted) return resolve(undefined);
          signal.addEventListener('abort', onAbort, { once: true });
          keyboard.setRawMode(true);
          keyboard.on('keypress', onKey);
          keyboard.resume();
          show(`${before}${CURSOR}`);
        });
      } finally {
        signal.removeEventListener('abort', onAbort);
        keyboard.off('keypress', onKey);
        keyboard.setRawMode(false);
        keyboard.pause();
      }
    },
  };
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const last = (text: string) => Array.from(graphemes.segment(text)).at(-1)?.segment ?? '';
const first = (text: string) => graphemes.segment(text).containing(0)?.segment ?? '';

/** What stands before the cursor and after it, once the key has had its effect. */
function edited(before: string, after: string, text: string, key: Key): [string, string] {
  if (key.ctrl === true) {
    if (key.name === 'u') return ['', after];
    if (key.name === 'w') return [before.replace(/\S*\s*$/, ''), after];
    if (key.name === 'a') return ['', before + after];
    return key.name === 'e' ? [before + after, ''] : [before, after];
  }
  switch (key.name) {
    case 'backspace':
      return [before.slice(0, before.length - last(before).length), after];
    case 'delete':
      return [before, after.slice(first(after).length)];
    case 'left':
      return [before.slice(0, before.length - last(before).length), last(before) + after];
    case 'right':
      return [before + first(after), after.slice(first(after).length)];
    case 'home':
      return ['', before + after];
    case 'end':
      return [before + after, ''];
    default:
      // oxlint-disable-next-line no-control-regex -- keys without a letter send control characters
      return [before + (key.meta === true ? '' : text.replace(/[\x00-\x1f\x7f]/g, '')), after];
  }
}
