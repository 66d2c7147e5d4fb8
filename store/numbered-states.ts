/**
 * A small state in a folder, changed by several processes, without a lock that a crash could leave behind. Every change
 * writes the whole next state under the next number.
 *
 * N1  A state appears whole: it is written elsewhere and synced first. After a crash the state before is there.
 * N2  A number is given once, since a link to a name that exists is refused. Whoever comes second reads again, and makes
 *     its change to what it reads then.
 * N3  Old states go after ten minutes only: until then no writer, however slow, can take one of their numbers again.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PerdureError } from '../contract/errors.js';
import { undefinedIfMissing } from './if-missing.js';

const FILE_PATTERN = /^(\d{12})\.json$/;
const KEPT_MS = 600_000;
const MOST_ATTEMPTS = 100;

export interface NumberedStates<T> {
  read(): Promise<T>;
  /** `edit` may be called again, with what another process has made of the state; what it throws changes nothing. */
  change<R>(edit: (state: T) => { state: T; result: R }): Promise<R>;
}

interface StatesOptions<T> {
  folder: string;
  /** Where nothing is written yet. */
  empty: T;
  parse(text: string, path: string): T;
}

export function createNumberedStates<T>({ folder, empty, parse }: StatesOptions<T>): NumberedStates<T> {
  let known: { mark: string; number: number; state: T } | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function current(): Promise<{ number: number; state: T }> {
    for (;;) {
      const number = Math.max(0, ...(await numbersIn(folder)));
      if (number === 0) return { number, state: empty };
      const path = pathOf(folder, number);
      const found = await stat(path).catch(undefinedIfMissing);
      // It went while we looked: there is a newer one.
      if (found === undefined) continue;
      const mark = `${number}:${found.ino}:${found.mtimeMs}`;
      if (known?.mark === mark) return known;
      const text = await readFile(path, 'utf8').catch(undefinedIfMissing);
      if (text === undefined) continue;
      known = { mark, number, state: parse(text, path) };
      return known;
    }
  }

  async function attempt<R>(edit: (state: T) => { state: T; result: R }): Promise<R> {
    for (let n = 1; n <= MOST_ATTEMPTS; n++) {
      const { number, state } = await current();
      const edited = edit(state);
      if (edited.state === state) return edited.result;
      if (await put(pathOf(folder, number + 1), `${JSON.stringify(edited.state, null, 2)}\n`)) {
        await removeOld(folder, number + 1);
        return edited.result;
      }
    }
    const why = `each of ${MOST_ATTEMPTS} attempts to change it was overtaken by another process`;
    throw new PerdureError('server_unreachable', `${folder}: ${why}`);
  }

  return {
    read: async () => (await current()).state,
    change(edit) {
      // One at a time in this process: only other processes are in the way then.
      const result = last.then(() => attempt(edit));
      last = result.catch(() => {});
      return result;
    },
  };
}

/** False where the number is taken. */
async function put(path: string, text: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
  try {
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    await link(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function removeOld(folder: string, newest: number): Promise<void> {
  const written = (await stat(pathOf(folder, newest)).catch(undefinedIfMissing))?.mtimeMs ?? 0;
  const kept = pathOf(folder, newest);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (path === kept) continue;
    const found = await stat(path).catch(undefinedIfMissing);
    // Also what a crash has left of a write. Both times are those of the file system.
    if (found !== undefined && written - found.mtimeMs > KEPT_MS) await rm(path, { force: true });
  }
}

async function numbersIn(folder: string): Promise<number[]> {
  const names = (await readdir(folder).catch(undefinedIfMissing)) ?? [];
  return names.flatMap((name) => FILE_PATTERN.exec(name)?.[1] ?? []).map(Number);
}

function pathOf(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(12, '0')}.json`);
}
