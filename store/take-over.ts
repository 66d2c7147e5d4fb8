/**
 * Files of the data folder from before there was a database, taken over once: API keys, stored agents, feedback.
 *
 * T1  What the files hold and the mark that says so are one transaction. The mark is the hash of what was read, so that
 *     whoever is interrupted, or comes second, finds it and adds nothing.
 * T2  What is in the database already stays as it is: a key that was revoked there does not come back.
 * T3  No file is deleted. Those of the data folder are moved to `taken-over/`, once they are in the database; a file of
 *     keys elsewhere is left where it is.
 */
import { createHash } from 'node:crypto';
import { mkdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { toApiKeyRow } from './api-keys.js';
import type { Changes, Database } from './database/open-database.js';
import type { Tables } from './database/tables.js';
import { toFeedbackRow } from './feedback.js';
import { readOldAgents, readOldFeedback, readOldKeys } from './old-files.js';
import type { OldRecords } from './old-files.js';
import { toAgentRow } from './stored-agents.js';

const FOLDER = 'taken-over';
/** A statement has a limit for its values. */
const BATCH = 100;
/** Where the folder cannot be written to, what is in it stays there. */
const NOT_OURS = ['EROFS', 'EACCES', 'EPERM', 'EXDEV'];
/** Another process has moved it. */
const MOVED = ['ENOENT', 'ENOTEMPTY', 'EEXIST'];

export interface TakeOverOptions {
  dataDir: string;
  /** Keys that somebody had in another place. */
  keysFile?: string | undefined;
  report(line: string): void;
}

export async function takeOver(database: Database, { dataDir, keysFile, report }: TakeOverOptions): Promise<void> {
  const inFolder = (name: string) => join(dataDir, name);
  // All are read before any is taken: one that is broken stops the start.
  const own = [
    await source('API keys', 'api_keys', inFolder('api-keys.json'), readOldKeys, toApiKeyRow),
    await source('stored agents', 'stored_agents', inFolder('stored-agents'), readOldAgents, toAgentRow),
    await source('feedback records', 'feedback', inFolder('feedback'), readOldFeedback, toFeedbackRow),
  ];
  const elsewhere =
    keysFile === undefined || keysFile === inFolder('api-keys.json')
      ? undefined
      : await source('API keys', 'api_keys', keysFile, readOldKeys, toApiKeyRow);
  const said: string[] = [];
  for (const each of own.filter((one) => one !== undefined)) {
    const taken = await take(database, each);
    await moveTo(join(dataDir, FOLDER, each.mark.slice(0, 12)), each.path);
    if (taken !== undefined) said.push(taken);
  }
  if (said.length > 0) {
    report(`taken over into ${database.place}: ${said.join(', ')}; the files are in ${inFolder(FOLDER)}`);
  }
  const others = elsewhere === undefined ? undefined : await take(database, elsewhere);
  if (others !== undefined) {
    report(`taken over into ${database.place}: ${others} of ${keysFile}, which is not read any more`);
  }
}

type Name = 'api_keys' | 'stored_agents' | 'feedback';

interface Source {
  what: string;
  table: Name;
  path: string;
  mark: string;
  rows: Tables[Name][];
}

async function source<T>(
  what: string,
  table: Name,
  path: string,
  read: (path: string) => Promise<OldRecords<T> | undefined>,
  toRow: (record: T) => Tables[Name],
): Promise<Source | undefined> {
  const old = await read(path);
  if (old === undefined) return undefined;
  const mark = createHash('sha256')
    .update(JSON.stringify([what, ...old.texts]))
    .digest('hex');
  return { what, table, path, mark, rows: old.records.map(toRow) };
}

/** What was taken, in words; undefined where that was nothing. */
async function take(database: Database, from: Source): Promise<string | undefined> {
  const added = await database.change((changes) => insertOnce(changes, from), { name: 'taken over' });
  if (added === undefined || from.rows.length === 0) return undefined;
  const known = from.rows.length - added;
  return `${added} ${from.what}${known === 0 ? '' : ` (and ${known} that it had, or whose name it had)`}`;
}

/** How many are new; undefined where all of it was done before. */
async function insertOnce(changes: Changes, { table, mark, what, rows }: Source): Promise<number | undefined> {
  const marked = await changes
    .insertInto('taken_over')
    .values({ mark, what, taken_at: new Date().toISOString() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (marked.numInsertedOrUpdatedRows !== 1n) return undefined;
  let added = 0;
  for (let from = 0; from < rows.length; from += BATCH) {
    const { numInsertedOrUpdatedRows } = await changes
      .insertInto(table)
      .values(rows.slice(from, from + BATCH) as never)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    added += Number(numInsertedOrUpdatedRows);
  }
  return added;
}

async function moveTo(folder: string, path: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await rename(path, join(folder, basename(path)));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!NOT_OURS.includes(code) && !MOVED.includes(code)) throw error;
  }
}
