/** Feedback in the database. */
import { beforeEach, expect, it } from 'vitest';
import type { SubmitFeedback } from '../../contract/feedback.js';
import { createFeedbackStore } from '../../store/feedback.js';
import { onBothDatabases } from './databases.js';
import type { Place } from './databases.js';

const good: SubmitFeedback = { sentiment: 'positive', categories: ['helpful'], notes: null };
const bad: SubmitFeedback = { sentiment: 'negative', categories: ['slow'], notes: 'a minute' };

function on(thread_id: string, message_sequence_num: number, user_id: string) {
  return { org_id: 'acme', thread_id, message_sequence_num, user_id };
}

onBothDatabases('feedback', (fresh) => {
  let place: Place;
  beforeEach(async () => {
    place = await fresh();
  });
  const open = async () => createFeedbackStore(await place.open());

  it('is one per reader and message: a second one takes the place of the first', async () => {
    const feedback = await open();
    const first = await feedback.put(on('thr_1', 1, 'ann'), good);
    const second = await (await open()).put(on('thr_1', 1, 'ann'), bad);
    expect(second).toMatchObject({ feedback_id: first.feedback_id, created: first.created, ...bad });
    expect(await feedback.list('thr_1')).toEqual([second]);
  });

  it('of others, on other messages and in other threads is kept apart, whoever writes at the same time', async () => {
    const writers = await Promise.all(Array.from({ length: 4 }, open));
    const keys = ['ann', 'bob'].flatMap((user) => [on('thr_1', 3, user), on('thr_1', 1, user), on('thr_2', 1, user)]);
    const made = await Promise.all(writers.flatMap((store) => keys.map((key) => store.put(key, good))));
    expect(new Set(made.map(({ feedback_id }) => feedback_id)).size).toBe(6);
    const kept = await (await open()).list('thr_1');
    expect(kept.map(({ message_sequence_num }) => message_sequence_num)).toEqual([1, 1, 3, 3]);
  });

  it('of a thread goes with it, and of no other', async () => {
    const feedback = await open();
    await feedback.put(on('thr_1', 1, 'ann'), good);
    await feedback.put(on('thr_2', 1, 'ann'), good);
    await feedback.forget('thr_1');
    await feedback.forget('thr_never');
    expect(await feedback.list('thr_1')).toEqual([]);
    expect(await feedback.list('thr_2')).toHaveLength(1);
  });

  it('may have any character in its notes', async () => {
    const feedback = await open();
    const notes = "it's \ud83d\ude00, and \0 as well";
    await feedback.put(on('thr_1', 1, 'ann'), { ...bad, notes });
    expect((await feedback.list('thr_1'))[0]?.notes).toBe(notes.replace('\0', '\ufffd'));
  });
});
