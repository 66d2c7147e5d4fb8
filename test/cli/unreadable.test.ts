/** A run or a thread that cannot be read any more, as after a credential has expired: the command ends, and says why. */
import { describe, expect, it } from 'vitest';
import type { StreamEvent, ThreadEvent } from '../../client/index.js';
import { createConversation } from '../../cli/chat/conversation.js';
import type { ConversationOptions } from '../../cli/chat/conversation.js';
import { followRun } from '../../cli/follow-run.js';
import type { FollowOptions } from '../../cli/follow-run.js';

const FAILED = {
  type: 'stream_failed',
  run_id: 'thr_1/turn_2',
  code: 'server_refused',
  message: 'the Temporal server gave no answer: it refuses our credentials',
} as const;

async function* fails<T>(): AsyncGenerator<T | typeof FAILED> {
  yield await Promise.resolve(FAILED);
}

describe('what cannot be read any more', () => {
  it('ends a command that follows a run', async () => {
    const notes: string[] = [];
    const nothing = () => {};
    const view = { event: nothing, note: (line: string) => notes.push(line), hint: nothing, end: nothing };
    const runs = { stream: () => fails<StreamEvent>() };
    const session = { client: { runs }, embedded: true, broken: new Promise<never>(nothing) };
    const options = { session, settings: {}, runId: 'run_1', view, interrupts: { handle: nothing }, flags: '' };
    await expect(followRun(options as unknown as FollowOptions)).rejects.toMatchObject({ code: 'server_refused' });
  });

  it('ends a chat between two turns', async () => {
    const views: unknown[] = [];
    const desk = { print() {}, openView: () => views.push('a view'), styles: {} };
    const threads = {
      state: () => Promise.resolve({ counter: 1, turns: 1 }),
      get: () => Promise.resolve({ messages: [] }),
      stream: () => fails<ThreadEvent>(),
    };
    const why = await new Promise((over) => {
      const options = { threads, desk, session: {}, turnBegan() {}, turnEnded() {}, over };
      void createConversation(options as unknown as ConversationOptions).enter('thr_1');
    });
    expect(why).toMatchObject({ code: 'server_refused' });
    // There is no such turn.
    expect(views).toEqual([]);
  });
});
