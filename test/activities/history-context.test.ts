/** The conversation of a run, read from its history: no worker is asked. */
import type { Context } from '@temporalio/activity';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOfAll } from '../../activities/context-cache.js';
import { contextFromHistory } from '../../activities/history-context.js';
import type { ContextInput } from '../../contract/activities.js';
import { EMPTY_DIGEST } from '../../contract/digest.js';
import { projectTranscript } from '../../contract/transcript.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(testConfig());
});
afterAll(() => world.end());

const NOTHING = { messages: [], digest: EMPTY_DIGEST };

/** As the last model call of a run was asked to make it, on a worker that knows nothing. */
async function lastCall(runId: string): Promise<{ input: ContextInput; context: Context; queries: () => number }> {
  const handle = world.temporal.workflow.getHandle(runId);
  const { events } = await handle.fetchHistory();
  const calls = (events ?? []).flatMap((event) => {
    const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
    return activityType?.name === 'callModel' ? [input?.payloads?.[0]] : [];
  });
  const { payloadConverter } = world.temporal.workflow.options.loadedDataConverter;
  const input = payloadConverter.fromPayload<ContextInput>(calls.at(-1)!);
  let count = 0;
  const client = new Proxy(world.temporal, {
    get(target, name) {
      if (name !== 'workflowService') return target[name as keyof typeof target];
      return new Proxy(target.workflowService, {
        get(service, method) {
          if (method === 'queryWorkflow') count += 1;
          return service[method as keyof typeof service];
        },
      });
    },
  });
  const workflowExecution = { workflowId: runId, runId: (await handle.describe()).runId };
  return { input, context: { client, info: { workflowExecution } } as unknown as Context, queries: () => count };
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
  const { input, context, queries } = await lastCall(runId);
  const found = await contextFromHistory(input, [NOTHING], undefined, context);
  const transcript = projectTranscript(await world.logOf(runId));
  expect(found?.messages).toEqual(transcript.slice(0, input.prefix.length));
  expect(digestOfAll(found?.messages ?? [])).toBe(input.prefix.digest);
  expect(found?.spec.agent_id).toBe('test.agent');
  expect(queries()).toBe(0);
});

it('goes on from what is known', async () => {
  const runId = await played(4);
  const { input, context } = await lastCall(runId);
  const whole = await contextFromHistory(input, [NOTHING], undefined, context);
  const messages = whole!.messages.slice(0, 4);
  const known = { messages, digest: digestOfAll(messages) };
  // The beginning alone would not do here, so it is the known part that was used.
  const found = await contextFromHistory(input, [known], whole!.spec, context);
  expect(found).toEqual(whole);
});

it('is undefined where it does not match, or is not in the history', async () => {
  const runId = await played(2);
  const { input, context } = await lastCall(runId);
  const other = { ...input, prefix: { ...input.prefix, digest: '0123456789abcdef' } };
  expect(await contextFromHistory(other, [NOTHING], undefined, context)).toBeUndefined();
  expect(await contextFromHistory(input, [], undefined, context)).toBeUndefined();
  const large = await lastCall(await played(3, 'x'.repeat(150_000)));
  expect(await contextFromHistory(large.input, [NOTHING], undefined, large.context)).toBeUndefined();
});
