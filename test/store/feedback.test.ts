/** Feedback on disk. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SubmitFeedback } from '../../contract/feedback.js';
import { createFeedbackStore } from '../../store/feedback.js';

const good: SubmitFeedback = { sentiment: 'positive', categories: ['helpful'], notes: null };
const bad: SubmitFeedback = { sentiment: 'negative', categories: ['slow'], notes: 'a minute' };
let folder = '';

beforeEach(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'perdure-feedback-'));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  folder = join(parent, 'feedback');
});

function on(thread_id: string, message_sequence_num: number, user_id: string) {
  return { org_id: 'acme', thread_id, message_sequence_num, user_id };
}

describe('feedback', () => {
  it('is one per reader and message: a second one takes the place of the first', async () => {
    const feedback = createFeedbackStore(folder);
    const first = await feedback.put(on('thr_1', 1, 'ann'), good);
    const second = await createFeedbackStore(folder).put(on('thr_1', 1, 'ann'), bad);
    expect(second).toMatchObject({ feedback_id: first.feedback_id, created: first.created, ...bad });
    expect(await feedback.list('thr_1')).toEqual([second]);
  });

  it('of others, on other messages and in other threads is kept apart, whoever writes at the same time', async () => {
    const writers = Array.from({ length: 4 }, () => createFeedbackStore(folder));
    const keys = ['ann', 'bob'].flatMap((user) => [on('thr_1', 3, user), on('thr_1', 1, user), on('thr_2', 1, user)]);
    const made = await Promise.all(writers.flatMap((store) => keys.map((key) => store.put(key, good))));
    expect(new Set(made.map(({ feedback_id }) => feedback_id)).size).toBe(6);
    const kept = await createFeedbackStore(folder).list('thr_1');
    expect(kept.map(({ message_sequence_num }) => message_sequence_num)).toEqual([1, 1, 3, 3]);
  });

  it('of a thread goes with it, and of no other', async () => {
    const feedback = createFeedbackStore(folder);
    await feedback.put(on('thr_1', 1, 'ann'), good);
    await feedback.put(on('thr_2', 1, 'ann'), good);
    await feedback.forget('thr_1');
    await feedback.forget('thr_never');
    expect(await feedback.list('thr_1')).toEqual([]);
    expect(await feedback.list('thr_2')).toHaveLength(1);
  });

  it('does not see what a crash has left of a write', async () => {
    const feedback = createFeedbackStore(folder);
    const { feedback_id } = await feedback.put(on('thr_1', 1, 'ann'), good);
    const thread = createHash('sha256').update('thr_1').digest('hex');
    await writeFile(join(folder, thread, 'some.json.of-a-crash.tmp'), '{"vers');
    expect(await feedback.list('thr_1')).toMatchObject([{ feedback_id }]);
    expect(await feedback.put(on('thr_1', 1, 'ann'), bad)).toMatchObject({ feedback_id, ...bad });
  });
});
