/** What was entered in chats, kept between them: one line of JSON each, in the state folder, for its owner's eyes only. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createHistory } from './history.js';
import type { History } from './history.js';

const KEPT_ENTRIES = 1_000;
const OWNER_ONLY = { mode: 0o600 };

export function historyPath(env: NodeJS.ProcessEnv): string {
  const given = env['XDG_STATE_HOME'];
  // The standard says that a path which is not absolute is none.
  const state = given?.startsWith('/') === true ? given : join(homedir(), '.local', 'state');
  return join(state, 'perdure', 'chat-history');
}

/** `failed` hears once why nothing can be kept: a chat goes on without. */
export function openHistoryFile(path: string, failed: (error: unknown) => void): History {
  let isKept = true;
  const attempt = <T>(work: () => T, otherwise: T): T => {
    if (!isKept) return otherwise;
    try {
      return work();
    } catch (error) {
      isKept = false;
      failed(error);
      return otherwise;
    }
  };
  const entries = attempt(() => readEntries(path), []);
  const line = (text: string) => `${JSON.stringify(text)}\n`;
  attempt(() => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // The others are forgotten when somebody begins anew, so that a chat only ever appends.
    if (entries.length > 2 * KEPT_ENTRIES)
      writeFileSync(path, entries.slice(-KEPT_ENTRIES).map(line).join(''), OWNER_ONLY);
  }, undefined);
  return createHistory(entries, (text) => attempt(() => appendFileSync(path, line(text), OWNER_ONLY), undefined));
}

function readEntries(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((each) => {
    // A line that was cut by a full disk is no reason to lose the others.
    try {
      const entry: unknown = JSON.parse(each);
      return typeof entry === 'string' ? [entry] : [];
    } catch {
      return [];
    }
  });
}
