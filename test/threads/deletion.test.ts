/** Deleted is for good: whatever comes late changes nothing, and whoever sends it is told. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHILD_AWAIT, READ_SETTINGS, READ_THREAD } from '../../contract/names.js';
import type { ThreadPage } from '../../contract/thread-commands.js';
import { call, script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, threadConfig } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

const look = { tool: 'client.declared.client_look', args: {} };

/** A thread in the middle of a turn: a tool at work, which does not stop when it is told to, and the client asked. */
async function atWork() {
  const { threads } = world.client;
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [
      script([{ text: 'Looking.', tool_calls: [look, call('tools.act', { do: 'ignore_abort' })] }, { text: 'Done.' }]),
    ],
    client_tools,
    analysis_scope: { dataset: 'ds_1' },
  });
  await until(async () => (await threads.header(thread_id)).pending.length > 0, 'the client to be asked');
  const { pending } = await threads.header(thread_id);
  return { threads, thread_id, tool_use_id: pending[0]?.tool_use_id ?? '', await_id: pending[0]?.await_id ?? '' };
}

it.each([
  ['while its turn is ending', false],
  ['when it has ended', true],
])('what comes after a delete, %s, is refused and leaves nothing', async (_, ended) => {
  const { threads, thread_id, tool_use_id, await_id } = await atWork();
  const handle = world.temporal.workflow.getHandle(thread_id);
  const run_id = `${thread_id}/turn_1`;
  await threads.delete(thread_id);
  if (ended) await handle.result();
  const link = { run_id, agent_id: 'test.agent', stream_key: `perdure.run.${run_id}` };
  const change = { link, await_id, kind: 'external_tools', state: 'open', calls: [{ tool_call_id: 'call_1_1' }] };
  const late = [
    () => threads.send(thread_id, { message: 'late' }),
    () => threads.send(thread_id, { message: 'late', on_busy: 'enqueue' }),
    () => threads.submitToolResults(thread_id, { tool_results: [{ tool_use_id, status: 'success', output: 'seen' }] }),
    () => threads.rename(thread_id, 'Late'),
    () => threads.cancel(thread_id),
    () => threads.get(thread_id),
    () => threads.header(thread_id),
    () => threads.fork(thread_id, { message_sequence_num: 0 }),
  ];
  const notice = handle.signal(CHILD_AWAIT, { via: run_id, changes: [change] }).catch(() => {});
  // One after another: the server answers few queries of a workflow at once.
  for (const attempt of late) await expect(attempt()).rejects.toMatchObject({ code: 'unknown_thread' });
  await notice;

  await expect(handle.result()).resolves.toEqual({ version: 1, thread_id, status: 'deleted' });
  // Its run wrote its end, after that; nothing of it is in the thread.
  expect((await world.logOf(run_id)).at(-1)).toMatchObject({
    type: 'run_completed',
    cancellation: { reason: 'thread_deleted' },
  });
  const page = await handle.query<ThreadPage>(READ_THREAD);
  expect(page).toMatchObject({ slices: [], tail: 0, header: { deleted: true, title: null, goals: [], queued: 0 } });
  expect(page.header.pending).toEqual([]);
  expect(await handle.query(READ_SETTINGS)).toEqual({ as_of: expect.any(Number) as number });
});

it('a second delete is like the first', async () => {
  const { threads, thread_id } = await atWork();
  await threads.delete(thread_id);
  await world.temporal.workflow.getHandle(thread_id).result();
  await expect(threads.delete(thread_id)).rejects.toMatchObject({ code: 'unknown_thread' });
});
