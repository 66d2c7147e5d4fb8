/** Whatever is read as committed names the workflow task after which it was made, and it is the last completed one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { READ_LOG, READ_QUEUE, READ_SETTINGS, READ_THREAD } from '../../contract/names.js';
import type { AsOf } from '../../contract/queries.js';
import { lastCompletedTask } from '../../live/history.js';
import { script } from '../support/test-agents.js';
import { ask, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

async function expectNamed(workflowId: string, queries: string[]): Promise<void> {
  const handle = world.temporal.workflow.getHandle(workflowId);
  const hasTask = async () => (await handle.describe()).raw.pendingWorkflowTask != null;
  await until(async () => !(await hasTask()), 'the last task to be over');
  const { runId } = await handle.describe();
  const task = await lastCompletedTask(world.temporal, { workflowId, runId });
  expect(task).toBeGreaterThan(0);
  for (const name of queries) {
    const { as_of } = await handle.query<AsOf, [object]>(name, { from: 0 });
    expect(as_of, name).toBe(task);
  }
}

it('of a run that waits', async () => {
  const input = script([{ tool_calls: [ask('Which?')] }, { text: 'ok' }]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input });
  await until(async () => (await world.client.runs.get(run_id)).awaits.length === 1, 'the question');
  await expectNamed(run_id, [READ_LOG]);
  await world.client.runs.cancel(run_id);
});

it('of a thread that waits', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({ agent_id: 'test.node', messages: [script([{ text: 'hello' }])] });
  await settled(threads, thread_id);
  await expectNamed(thread_id, [READ_THREAD, READ_QUEUE, READ_SETTINGS]);
});
