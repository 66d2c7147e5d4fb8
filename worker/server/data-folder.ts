import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from './report.js';

export const DATABASE_FILE = 'temporal.db';
/** SQLite's own files beside the database; the write-ahead log holds acknowledged data. */
const SUFFIXES = ['', '-wal', '-shm'];

/** Runs, prompts and answers are in there: only their owner may read them. */
export function prepareFolder(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform === 'win32') return;
  const othersMayEnter = (statSync(folder).mode & 0o077) !== 0;
  // A folder with other things in it is not ours to close: somebody may have named /tmp or a project's root.
  if (othersMayEnter && readdirSync(folder).length === 0) chmodSync(folder, 0o700);
  else if (othersMayEnter) report(`${folder} can be read by others; the database in it cannot`);
  for (const suffix of SUFFIXES) {
    const file = join(folder, DATABASE_FILE + suffix);
    if (existsSync(file)) chmodSync(file, 0o600);
  }
}

/**
 * The server makes its tables only when the file does not exist yet, and not in one transaction: killed in between,
 * it leaves a file on which it can never start again. So a mark stands beside the database until its first start
 * has succeeded, and a database that still has it is set aside. Returns the function that takes the mark away.
 */
export function markUntilComplete(folder: string, report: Report): () => void {
  const database = join(folder, DATABASE_FILE);
  const mark = `${database}.incomplete`;
  if (existsSync(mark) && existsSync(database)) {
    const aside = `${database}.set-aside`;
    for (const suffix of SUFFIXES) {
      rmSync(aside + suffix, { force: true });
      if (existsSync(database + suffix)) renameSync(database + suffix, aside + suffix);
    }
    report(`${database} was left incomplete by a first start that did not finish: moved to ${aside}`);
  }
  if (!existsSync(database)) writeFileSync(mark, '', { mode: 0o600 });
  return () => rmSync(mark, { force: true });
}
