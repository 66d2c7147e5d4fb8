/** The keyboard of a chat: what is typed as a message, with questions of the agent going first. The draft survives them. */
import type { History } from '../keyboard/history.js';
import type { Draft, LineReader } from '../keyboard/line-reader.js';

export interface Composer {
  /** For questions: they take the keyboard, and give it back. */
  readonly questions: LineReader;
  /** The next text; undefined at the end of the input, or when the signal aborts. */
  next(show: (text: string) => void, signal: AbortSignal): Promise<string | undefined>;
  /** Puts back what could not be sent; false where something else was typed since, and it is only in the history. */
  restore(text: string): boolean;
  /** What is typed and not entered. */
  draft(): string;
}

export function createComposer(keyboard: LineReader, history: History): Composer {
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
        const options = { draft, history, takesEarlierKeys: true };
        const text = keyboard.read(show, AbortSignal.any([signal, own.signal]), options);
        reading = text.catch(() => {});
        const typed = await text;
        yielding = undefined;
        if (typed !== undefined) {
          draft.text = '';
          history.add(typed);
        }
        if (typed !== undefined || signal.aborted || !own.signal.aborted) return typed;
      }
    },
    restore(text) {
      if (draft.text !== '') return false;
      if (draft.replace === undefined) draft.text = text;
      else draft.replace(text);
      return true;
    },
    draft: () => draft.text,
  };
}
