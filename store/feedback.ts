/** Feedback on messages: one for each reader and message, so that a second one of the same reader replaces the first. */
import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { FeedbackRecord, SubmitFeedback } from '../contract/feedback.js';
import type { Database } from './database/open-database.js';
import type { FeedbackTable } from './database/tables.js';

/** What it is about, and whose it is. */
export type FeedbackKey = Pick<FeedbackRecord, 'org_id' | 'thread_id' | 'message_sequence_num'> & { user_id: string };

export interface FeedbackStore {
  put(key: FeedbackKey, feedback: SubmitFeedback): Promise<FeedbackRecord>;
  /** In the order of the messages. */
  list(threadId: string): Promise<FeedbackRecord[]>;
  /** All of a thread's. */
  forget(threadId: string): Promise<void>;
}

export function createFeedbackStore({ query }: Database): FeedbackStore {
  return {
    async put({ user_id, ...about }, feedback) {
      const now = new Date().toISOString();
      const who = { created: now, created_by: user_id, modified: now, modified_by: user_id };
      const row = toFeedbackRow({ feedback_id: feedbackId(about, user_id), ...about, ...who, ...feedback });
      const { sentiment, categories, notes, modified, modified_by } = row;
      const kept = await query
        .insertInto('feedback')
        .values(row)
        .onConflict((conflict) =>
          conflict.column('feedback_id').doUpdateSet({ sentiment, categories, notes, modified, modified_by }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      return toRecord(kept);
    },
    async list(threadId) {
      const ofThread = query.selectFrom('feedback').selectAll().where('thread_id', '=', threadId);
      return (await ofThread.orderBy('message_sequence_num').orderBy('created').execute()).map(toRecord);
    },
    async forget(threadId) {
      await query.deleteFrom('feedback').where('thread_id', '=', threadId).execute();
    },
  };
}

export function toFeedbackRow(record: FeedbackRecord): Selectable<FeedbackTable> {
  const { feedback_id, org_id, thread_id, message_sequence_num, sentiment, categories, notes } = record;
  const { created, created_by, modified, modified_by } = record;
  const about = { feedback_id, org_id, thread_id, message_sequence_num, sentiment, notes };
  return { ...about, categories: JSON.stringify(categories), created, created_by, modified, modified_by };
}

function toRecord({ categories, ...row }: Selectable<FeedbackTable>): FeedbackRecord {
  return { ...row, categories: JSON.parse(categories) as string[] } as FeedbackRecord;
}

function feedbackId({ thread_id, message_sequence_num }: Omit<FeedbackKey, 'user_id'>, userId: string): string {
  const text = JSON.stringify([thread_id, message_sequence_num, userId]);
  return `fbk_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}
