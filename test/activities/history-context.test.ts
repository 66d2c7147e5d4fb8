/** The conversation of a run, read from its history: no worker is asked. */
import type { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createContextCache } from '../../activities/context-cache.js';
import { contextFromHistory } from '../../activities/history-context.js';
import type { FindBeginning } from '../../activities/history-context.js';
import type { ContextInput } from '../../contract/activities.js';
import { digestOfAll } from '../../contract/digest.js';
import { READ_CONTEXT } from '../../contract/names.js';
import { projectTranscript } from '../../contract/transcript.js';
import { countQueries } from '../support/count-queries.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';

const queries = countQueries();
let world: World;
beforeAll(async () => {
  world = await createWorld(testConfig());
});
afterAll(() => world.end());

const nothing: FindBeginning = async ({ length }) => (length === 0 ? [] : undefined);

/** As the last model call of a run was asked to make it, on a worker that knows nothing. */
async function lastCall(runId: string): Promise<{ input: ContextInput; context: Context; silent: Context }> {
  const handle = world.temporal.workflow.getHandle(runId);
  const { events } = await handle.fetchHistory();
  const calls = (events ?? []).flatMap((event) => {
    const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
    return activityType?.name === 'callModel' ? [input?.payloads?.[0]] : [];
  });
  const { payloadConverter } = world.temporal.workflow.options.loadedDataConverter;
  const input = payloadConverter.fromPayload<ContextInput>(calls.at(-1)!);
  // One whose history tells nothing.
  const silent = new Proxy(world.temporal, {
    get(target, name) {
      if (name !== 'workflowService') return target[name as keyof typeof target];
      return { getWorkflowExecutionHistoryReverse: async () => ({ history: { events: [] } }) };
    },
  });
  const workflowExecution = { workflowId: runId, runId: (await handle.describe()).runId };
  const inside = (client: Client) => ({ client, info: { workflowExecution } }) as unknown as Context;
  return { input, context: inside(world.temporal), silent: inside(silent) };
}

async function played(steps: number, text = 'step'): Promise<string> {
  const turns = Array.from({ length: steps }, (_, n) => ({
    text: n === 0 ? `${text} ${n}` : `step ${n}`,
    tool_calls: [call('tools.echo', { text: `${n}` }), call('tools.echo', { text: `${n}, too` })],
  }));
  const input = script([...turns, { text: 'the end' }]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
  await world.logOf(run_id);
  return run_id;
}

it('is what the model was given before, and the agent as it was pinned', async () => {
  const runId = await played(6);
  const { input, context } = await lastCall(runId);
  const found = await contextFromHistory(input, nothing, undefined, context);
  const transcript = projectTranscript(await world.logOf(runId));
  expect(found?.messages).toEqual(transcript.slice(0, input.prefix.length));
  expect(digestOfAll(found?.messages ?? [])).toBe(input.prefix.digest);
  expect(found?.spec.agent_id).toBe('test.agent');
  expect(queries(runId, READ_CONTEXT)).toEqual([]);
});

it('goes on from what is known', async () => {
  const runId = await played(4);
  const { input, context } = await lastCall(runId);
  const whole = await contextFromHistory(input, nothing, undefined, context);
  const messages = whole!.messages.slice(0, 4);
  const known: FindBeginning = async ({ length, digest }) =>
    length === messages.length && digest === digestOfAll(messages) ? messages : undefined;
  // The beginning alone would not do here, so it is the known part that was used.
  const found = await contextFromHistory(input, known, whole!.spec, context);
  expect(found).toEqual(whole);
});

it('is brought back from external storage, where a part of it left the history', async () => {
  const runId = await played(3, 'x'.repeat(150_000));
  const { input, context } = await lastCall(runId);
  const found = await contextFromHistory(input, nothing, undefined, context);
  expect(found?.messages).toEqual(projectTranscript(await world.logOf(runId)).slice(0, input.prefix.length));
  expect(queries(runId, READ_CONTEXT)).toEqual([]);
});

it('is undefined where it does not match, or is not in the history', async () => {
  const runId = await played(2);
  const { input, context } = await lastCall(runId);
  const other = { ...input, prefix: { ...input.prefix, digest: '0123456789abcdef' } };
  expect(await contextFromHistory(other, nothing, undefined, context)).toBeUndefined();
  expect(await contextFromHistory(input, async () => undefined, undefined, context)).toBeUndefined();
});

it('is asked of the workflow where the history cannot tell, a message larger than a page in ranges', async () => {
  const runId = await played(2, 'äöü€😀"'.repeat(12_000));
  const { input, silent } = await lastCall(runId);
  const { spec, messages } = await createContextCache(10).load(input, silent);
  expect(messages).toEqual(projectTranscript(await world.logOf(runId)).slice(0, messages.length));
  expect(messages).toHaveLength(input.prefix.length + input.new_messages.length);
  expect(spec.agent_id).toBe('test.agent');
  expect(queries(runId, READ_CONTEXT).length).toBeGreaterThan(2);
});
