/** The keyboard of a chat: what is typed as a message, with questions of the agent going first. The draft survives them. */
import type { Draft, LineReader } from '../line-reader.js';

export interface Composer {
  /** For questions: they take the keyboard, and give it back. */
  readonly questions: LineReader;
  /** The next line; undefined at the end of the input, or when the signal aborts. */
  next(show: (text: string) => void, signal: AbortSignal): Promise<string | undefined>;
  /** Puts back what could not be sent, unless something else was typed since. */
  restore(text: string): void;
}

export function createComposer(keyboard: LineReader): Composer {
  const draft: Draft = { text: '' };
  let yielding: AbortController | undefined;
  let reading: Promise<unknown> | undefined;
  let asking: Promise<unknown> | undefined;

  async function ask(show: (text: string) => void, signal: AbortSignal): Promise<string | undefined> {
    yielding?.abort();
    // Two at the keyboard would each get every key.
    await reading;
    return keyboard.read(show, signal);
  }

  return {
    questions: {
      async read(show, signal) {
        const question = ask(show, signal);
        asking = question.catch(() => {});
        try {
          return await question;
        } finally {
          asking = undefined;
        }
      },
    },
    async next(show, signal) {
      for (;;) {
        while (asking !== undefined) await asking;
        const own = new AbortController();
        yielding = own;
        const line = keyboard.read(show, AbortSignal.any([signal, own.signal]), draft);
        reading = line.catch(() => {});
        const typed = await line;
        yielding = undefined;
        if (typed !== undefined) draft.text = '';
        if (typed !== undefined || signal.aborted || !own.signal.aborted) return typed;
      }
    },
    restore(text) {
      if (draft.text === '') draft.text = text;
    },
  };
}
