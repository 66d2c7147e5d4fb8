/**
 * Feedback on messages: a file for each reader and message, in a folder for each thread. The names are hashes, so that a
 * second one of the same reader replaces the first, and nobody else's is touched.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FeedbackFile } from '../contract/feedback.js';
import type { FeedbackRecord, SubmitFeedback } from '../contract/feedback.js';
import { writeWhole } from './file-artefacts.js';
import { undefinedIfMissing } from './if-missing.js';
import { parseRecords } from './parse-records.js';

/** What it is about, and whose it is. */
export type FeedbackKey = Pick<FeedbackRecord, 'org_id' | 'thread_id' | 'message_sequence_num'> & { user_id: string };

export interface FeedbackStore {
  put(key: FeedbackKey, feedback: SubmitFeedback): Promise<FeedbackRecord>;
  /** In the order of the messages. */
  list(threadId: string): Promise<FeedbackRecord[]>;
  /** All of a thread's. */
  forget(threadId: string): Promise<void>;
}

export function createFeedbackStore(folder: string): FeedbackStore {
  const folderOf = (threadId: string) => join(folder, sha256(threadId));

  async function read(path: string): Promise<FeedbackRecord | undefined> {
    const text = await readFile(path, 'utf8').catch(undefinedIfMissing);
    return text === undefined ? undefined : parseRecords(FeedbackFile, text, `the feedback in ${path}`).feedback;
  }

  return {
    async put({ user_id, ...about }, { sentiment, categories, notes }) {
      const id = sha256(JSON.stringify([about.thread_id, about.message_sequence_num, user_id]));
      const path = join(folderOf(about.thread_id), `${id}.json`);
      const now = new Date().toISOString();
      const { created } = (await read(path)) ?? { created: now };
      const feedback = {
        feedback_id: `fbk_${id.slice(0, 32)}`,
        ...about,
        created,
        created_by: user_id,
        modified: now,
        modified_by: user_id,
        sentiment,
        categories,
        notes,
      };
      const file: FeedbackFile = { version: 1, feedback };
      await writeWhole(path, Buffer.from(`${JSON.stringify(file, null, 2)}\n`));
      return feedback;
    },
    async list(threadId) {
      const names = (await readdir(folderOf(threadId)).catch(undefinedIfMissing)) ?? [];
      const paths = names.filter((name) => name.endsWith('.json')).map((name) => join(folderOf(threadId), name));
      const records = (await Promise.all(paths.map(read))).flatMap((record) => record ?? []);
      return records.toSorted((a, b) => a.message_sequence_num - b.message_sequence_num);
    },
    forget: (threadId) => rm(folderOf(threadId), { recursive: true, force: true, maxRetries: 3 }),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
