/** What the data folder held before there was a database: a file of API keys, and folders of stored agents and feedback. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiKeyFile } from '../contract/api-key.js';
import type { ApiKeyRecord } from '../contract/api-key.js';
import { FeedbackFile } from '../contract/feedback.js';
import type { FeedbackRecord } from '../contract/feedback.js';
import { StoredAgentFile } from '../contract/stored-agent.js';
import type { StoredAgent } from '../contract/stored-agent.js';
import { undefinedIfMissing } from './if-missing.js';
import { parseRecords } from './parse-records.js';

interface TextFile {
  path: string;
  text: string;
}
/** With the texts that it was read from. */
export interface OldRecords<T> {
  texts: string[];
  records: T[];
}

export async function readOldKeys(path: string): Promise<OldRecords<ApiKeyRecord> | undefined> {
  const file = await read(path);
  if (file === undefined) return undefined;
  return { texts: [file.text], records: parseRecords(ApiKeyFile, file.text, `the API keys in ${path}`).keys };
}

/** A folder for each org, with numbered states: the highest is the one that counts. */
export async function readOldAgents(folder: string): Promise<OldRecords<StoredAgent> | undefined> {
  const orgs = (await entriesOf(folder))?.filter((name) => /^[0-9a-f]{64}$/.test(name)).toSorted();
  if (orgs === undefined) return undefined;
  const newest = await Promise.all(
    orgs.map(async (org) => {
      const states = (await entriesOf(join(folder, org)))?.filter((name) => /^\d{12}\.json$/.test(name)).toSorted();
      return states?.at(-1) === undefined ? undefined : read(join(folder, org, states.at(-1) ?? ''));
    }),
  );
  return collect(
    newest,
    ({ path, text }) => parseRecords(StoredAgentFile, text, `the stored agents in ${path}`).agents,
  );
}

/** A folder for each thread, with a file for each reader and message. */
export async function readOldFeedback(folder: string): Promise<OldRecords<FeedbackRecord> | undefined> {
  const threads = (await entriesOf(folder))?.toSorted();
  if (threads === undefined) return undefined;
  const files: (TextFile | undefined)[] = [];
  for (const thread of threads) {
    const names = (await entriesOf(join(folder, thread)))?.filter((name) => name.endsWith('.json')).toSorted() ?? [];
    files.push(...(await Promise.all(names.map((name) => read(join(folder, thread, name))))));
  }
  return collect(files, ({ path, text }) => [parseRecords(FeedbackFile, text, `the feedback in ${path}`).feedback]);
}

function collect<T>(files: (TextFile | undefined)[], parse: (file: TextFile) => T[]): OldRecords<T> {
  // One that went while we looked was moved by another process, which has taken it over.
  const found = files.filter((file) => file !== undefined);
  return { texts: found.map(({ text }) => text), records: found.flatMap(parse) };
}

async function read(path: string): Promise<TextFile | undefined> {
  const text = await readFile(path, 'utf8').catch(undefinedIfMissing);
  return text === undefined ? undefined : { path, text };
}

async function entriesOf(folder: string): Promise<string[] | undefined> {
  return readdir(folder).catch(undefinedIfMissing);
}
