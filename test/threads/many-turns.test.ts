/**
 * A thread of many turns: what a turn costs does not depend on how many there were. 60 by default; `npm run test:long`
 * plays 500.
 */
import type { WorkflowHandle } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES } from '../../contract/sizes.js';
import { defineAgent } from '../../kit/index.js';
import { scripted } from '../../providers/index.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { follow, settled } from './thread-world.js';

// oxlint-disable-next-line node/no-process-env
const TURNS = Number(process.env['PERDURE_TEST_TURNS'] ?? 60);
const question = (n: number) => `question ${String(n).padStart(4, '0')} ${'?'.repeat(200)}`;
const answer = (n: number) => `Answer ${String(n).padStart(4, '0')} ${'!'.repeat(400)}`;

let world: World;
beforeAll(async () => {
  const turns = Array.from({ length: TURNS }, (_, n) => ({ text: [answer(n + 1)] }));
  world = await createWorld({
    models: { only: { provider: scripted({ turns }), model: 'scripted-1' } },
    agents: [defineAgent({ agent_id: 'test.talker', instructions: 'Talk.' })],
    runtime: { continue_as_new_after_events: TURNS * 3 },
  });
});
afterAll(() => world.end());

it(
  `costs the same in each of ${TURNS} turns, over continue-as-new, and its record is whole`,
  { timeout: TURNS * 5_000 },
  async () => {
    const { threads } = world.client;
    const begun = await threads.start({ agent_id: 'test.talker' });
    const { thread_id } = begun;
    const reader = follow(threads, begun);
    const first = (await world.temporal.workflow.getHandle(thread_id).describe()).runId;
    for (let n = 1; n <= TURNS; n++) {
      await threads.send(thread_id, { message: question(n) });
      await settled(threads, thread_id);
      if (n % 7 === 0) await reader.poll();
    }

    const record = await threads.get(thread_id);
    expect(record.messages.map(({ role, status, content }) => ({ role, status, content }))).toEqual(
      Array.from({ length: TURNS }, (_, n) => [
        { role: 'user', status: 'completed', content: [{ content_type: 'text', text: question(n + 1) }] },
        { role: 'assistant', status: 'completed', content: [{ content_type: 'text', text: answer(n + 1) }] },
      ]).flat(),
    );
    await reader.poll();
    expect(reader.held().messages).toEqual(record.messages);

    const sizes: number[] = [];
    for (let n = 1; n <= TURNS; n++) {
      const { historySize = Number.NaN } = await world.temporal.workflow.getHandle(`${thread_id}/turn_${n}`).describe();
      sizes.push(historySize);
    }
    // All but the first, which has no conversation before it.
    const [, ...later] = sizes;
    expect(Math.max(...later) / Math.min(...later)).toBeLessThan(1.1);

    const executions = await executionsOf(thread_id, first);
    expect(executions.length).toBeGreaterThan(2);
    // What it takes along is the record, and that is beside the history where it is large.
    for (const { carried } of executions) expect(carried).toBeLessThan(2 * EXTERNAL_STORAGE_THRESHOLD_BYTES);
    const perTurn = executions
      .filter(({ turns }) => turns > 3)
      .map(({ bytes, carried, turns }) => (bytes - carried) / turns);
    expect(Math.max(...perTurn) / Math.min(...perTurn)).toBeLessThan(1.3);
  },
);

/** Of each execution of the thread: its history, what it was begun with, and how many turns it had. */
async function executionsOf(id: string, first: string) {
  const found: { bytes: number; carried: number; turns: number }[] = [];
  for (let runId: string | undefined = first; runId !== undefined;) {
    const handle: WorkflowHandle = world.temporal.workflow.getHandle(id, runId);
    const { historySize: bytes = Number.NaN } = await handle.describe();
    const events: temporal.api.history.v1.IHistoryEvent[] = (await handle.fetchHistory()).events ?? [];
    const payloads = [
      ...(events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []),
      ...(events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.input?.payloads ?? []),
    ];
    const carried = payloads.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
    const turns = events.filter((event) => event.childWorkflowExecutionCompletedEventAttributes != null).length;
    found.push({ bytes, carried, turns });
    runId = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return found;
}
