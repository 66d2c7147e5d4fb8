/** Texts from the keyboard, edited where the view shows them: the view goes on being redrawn meanwhile. */
import type { ReadStream } from 'node:tty';
import { stdout } from '../own-output.js';
import type { Output } from '../own-output.js';
import { createKeyDecoder } from './decode-keys.js';
import type { Key } from './decode-keys.js';
import { edit } from './edit-text.js';
import type { Editing } from './edit-text.js';
import type { History } from './history.js';

export interface LineReader {
  /**
   * `show` gets the text as it is, after each key. Undefined when the signal aborts, at a Ctrl-D on an empty line, or
   * when there is no keyboard any more.
   */
  read(show: (text: string) => void, signal: AbortSignal, options?: ReadOptions): Promise<string | undefined>;
}

export interface ReadOptions {
  /** What the line begins with; kept up to date. */
  draft?: Draft;
  /** For the arrow keys. */
  history?: History;
  /** Takes keys that came while nobody was reading: a question does not, since they were not meant for it. */
  takesEarlierKeys?: boolean;
}

export interface Draft {
  text: string;
  /** There while it is being written on. */
  replace?: (text: string) => void;
}

export interface Keyboard extends LineReader {
  /** Nothing that is typed is lost or shown by the terminal itself from now on, until it is released. */
  hold(): () => void;
}

type Keys = Pick<ReadStream, 'setRawMode' | 'setEncoding' | 'resume' | 'pause' | 'on' | 'off'>;
type Reading = { keys(keys: readonly Key[]): void; ended(): void };

export const CURSOR = '▏';
/** Of a sequence that was cut, and of lines that come one after another. */
const CUT_MS = 50;
const MORE_LINES_MS = 30;
const MOST_EARLIER_KEYS = 10_000;
const [PASTE_ON, PASTE_OFF] = ['\x1b[?2004h', '\x1b[?2004l'];

/** In raw mode the terminal sends Ctrl-C as a key, and no signal. */
export function readKeyboard(): Keyboard {
  return createKeyboard(process.stdin, stdout, () => process.kill(process.pid, 'SIGINT'));
}

export function createKeyboard(stdin: Keys, terminal: Pick<Output, 'write'>, interrupt: () => void): Keyboard {
  const decoder = createKeyDecoder();
  let reading: Reading | undefined;
  let earlier: Key[] = [];
  let users = 0;
  let ended = false;
  let cut: NodeJS.Timeout | undefined;

  function take(keys: readonly Key[]): void {
    const isInterrupt = ({ ctrl, name }: Key) => ctrl && name === 'c';
    for (const _each of keys.filter(isInterrupt)) interrupt();
    const others = keys.filter((key) => !isInterrupt(key));
    if (others.length === 0) return;
    if (reading !== undefined) reading.keys(others);
    else earlier = [...earlier, ...others].slice(0, MOST_EARLIER_KEYS);
  }
  const onData = (chunk: string) => {
    clearTimeout(cut);
    take(decoder.push(chunk));
    cut = setTimeout(() => take(decoder.flush()), CUT_MS);
  };
  const onEnd = () => {
    ended = true;
    reading?.ended();
  };
  const leave = () => void terminal.write(PASTE_OFF);

  function hold(): () => void {
    users += 1;
    if (users === 1) {
      stdin.setEncoding('utf8');
      stdin.setRawMode(true);
      stdin.on('data', onData).on('end', onEnd);
      stdin.resume();
      terminal.write(PASTE_ON);
      process.once('exit', leave);
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      users -= 1;
      if (users > 0) return;
      clearTimeout(cut);
      stdin.off('data', onData).off('end', onEnd);
      leave();
      process.removeListener('exit', leave);
      stdin.setRawMode(false);
      stdin.pause();
    };
  }

  return {
    hold,
    async read(show, signal, options = {}) {
      if (signal.aborted || ended) return undefined;
      const release = hold();
      let onAbort = () => {};
      try {
        return await new Promise<string | undefined>((resolve) => {
          onAbort = () => resolve(undefined);
          signal.addEventListener('abort', onAbort, { once: true });
          reading = createReading(show, options, resolve);
          const waiting = options.takesEarlierKeys === true ? earlier : [];
          if (options.takesEarlierKeys === true) earlier = [];
          reading.keys(waiting);
        });
      } finally {
        reading?.ended();
        reading = undefined;
        signal.removeEventListener('abort', onAbort);
        release();
      }
    },
  };

  function createReading(
    show: (text: string) => void,
    { draft, history }: ReadOptions,
    finish: (text: string | undefined) => void,
  ): Reading {
    let now: Editing = { before: draft?.text ?? '', after: '', cut: '' };
    let entering: NodeJS.Timeout | undefined;
    let isOver = false;
    const end = (text: string | undefined) => {
      isOver = true;
      clearTimeout(entering);
      delete draft?.replace;
      finish(text);
    };

    /** True where the line is over. */
    function press(key: Key): boolean {
      const text = now.before + now.after;
      if (key.ctrl && key.name === 'd' && text === '') end(undefined);
      else if (key.name === 'enter' && !key.meta) {
        // Pasted lines come in several chunks: what follows at once still belongs to them.
        if (key.isLate === true) entering = setTimeout(() => end(now.before + now.after), MORE_LINES_MS);
        else end(text);
      } else now = edit(now, key) ?? recalled(key, text) ?? now;
      return isOver;
    }

    function recalled({ name, ctrl }: Key, text: string): Editing | undefined {
      const isUp = name === 'up' || (ctrl && name === 'p');
      if (!isUp && !(name === 'down' || (ctrl && name === 'n'))) return undefined;
      const entry = isUp ? history?.previous(text) : history?.next();
      return entry === undefined ? undefined : { before: entry, after: '', cut: now.cut };
    }

    const shown = () => show(`${now.before}${CURSOR}${now.after}`);
    if (draft !== undefined) {
      draft.replace = (text) => {
        draft.text = text;
        now = { before: text, after: '', cut: now.cut };
        shown();
      };
    }

    return {
      keys(keys) {
        if (isOver) return;
        if (entering !== undefined && keys.length > 0) {
          clearTimeout(entering);
          entering = undefined;
          now = { ...now, before: `${now.before}\n` };
        }
        const over = keys.findIndex(press);
        if (draft !== undefined) draft.text = now.before + now.after;
        if (over === -1) return shown();
        // They are for the next line.
        earlier = [...keys.slice(over + 1), ...earlier];
      },
      ended: () => end(undefined),
    };
  }
}
