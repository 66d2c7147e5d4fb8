/** A pause that lasted goes on in a new part of the run; what has been answered, and what has not, goes along. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { findServerBinary } from '../../worker/server-binary.js';
import { call, script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { results } from '../support/tree-logs.js';
import { collect, createWorld, durable, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

const run = promisify(execFile);
let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig({ long_pause: 1_000 }));
});
afterAll(() => world.end());

type Turns = Parameters<typeof script>[0];
const client_tools = [{ name: 'client_pick', description: 'Picks.', input_schema: { type: 'object' } }];
const pick = { tool: 'client.declared.client_pick', args: {} };

const start = async (turns: Turns, request = {}) =>
  (await world.client.runs.start({ agent_id: 'test.node', input: script(turns, { text: 'in short' }), ...request }))
    .run_id;
const paused = (runId: string, awaits = 1) =>
  until(async () => (await world.client.runs.get(runId)).awaits.length === awaits, 'the pause');
const executionOf = async (runId: string) => (await world.temporal.workflow.getHandle(runId).describe()).runId;
const historyOf = async (runId: string) => (await world.temporal.workflow.getHandle(runId).fetchHistory()).events ?? [];

async function continued(runId: string, first: string): Promise<void> {
  await until(async () => (await executionOf(runId)) !== first, 'continue-as-new');
}

/** It has been open for longer than a long pause takes, and nothing was written meanwhile. */
async function waitLong(runId: string): Promise<void> {
  const before = await world.temporal.workflow.getHandle(runId).describe();
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const after = await world.temporal.workflow.getHandle(runId).describe();
  expect([after.runId, after.historyLength]).toEqual([before.runId, before.historyLength]);
}

describe('a long pause', () => {
  it('writes nothing while it lasts, and goes on in a new part of the run with a short history', async () => {
    const run_id = await start([{ tool_calls: [ask('Which?'), call('tools.echo', { text: 'x' })] }, { text: 'ok' }]);
    await paused(run_id);
    await until(
      async () =>
        durable(await collect(world.client.runs.stream(run_id, { follow: false }))).some(
          (event) => event.type === 'tool_result',
        ),
      'x',
    );
    const first = await executionOf(run_id);
    const watching = world.logOf(run_id);
    await waitLong(run_id);
    expect((await world.client.runs.get(run_id)).awaits).toMatchObject([{ question: 'Which?' }]);
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'this' });
    const log = await watching;
    expect(await executionOf(run_id)).not.toBe(first);
    expect((await historyOf(run_id)).length).toBeLessThan(20);
    expect(results(log)).toEqual(['this', 'x']);
    expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index));
    expect(ofType(log, 'await_clarification')).toHaveLength(1);
    expect(ofType(log, 'tool_result').at(-1)!.duration_ms).toBeGreaterThan(1_200);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
  });

  it('that was short goes on where it is', async () => {
    const run_id = await start([{ tool_calls: [ask('Which?')] }, { text: 'ok' }]);
    await paused(run_id);
    const first = await executionOf(run_id);
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'this' });
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
    expect(await executionOf(run_id)).toBe(first);
  });

  it('an answer sent again with the same update id is still one answer', async () => {
    const run_id = await start([{ tool_calls: [ask('A?'), ask('B?')] }, { text: 'ok' }]);
    await paused(run_id, 2);
    const first = await executionOf(run_id);
    await waitLong(run_id);
    const updateId = randomUUID();
    const send = (updateId_: string) =>
      world.temporal.workflow.getHandle(run_id).executeUpdate('answer_clarification', {
        args: [{ await_id: 'clarification_call_1_1', answer: 'a' }],
        updateId: updateId_,
      });
    await send(updateId);
    await continued(run_id, first);
    expect(await send(updateId)).toEqual({ run_id });
    await expect(send(randomUUID())).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/answered already/) as string },
    });
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_2', answer: 'b' });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['a', 'b']);
    expect(ofType(log, 'await_resolved')).toHaveLength(2);
  });

  it('carries partial results, an approval that was given, and the time budget', async () => {
    const run_id = await start([{ tool_calls: [pick, pick] }, { text: 'ok' }], {
      client_tools,
      policy: { approve: ['client.declared.*'] },
      limits: { run: { time_budget: '3s' } },
    });
    await paused(run_id, 2);
    const first = await executionOf(run_id);
    await waitLong(run_id);
    const [approval] = (await world.client.runs.get(run_id)).awaits;
    await world.client.runs.decideApproval(run_id, {
      await_id: approval!.await_id,
      decision: 'approve',
      digest: approval!.digest!,
    });
    await continued(run_id, first);
    await until(
      async () => (await world.client.runs.get(run_id)).awaits.some((entry) => entry.kind === 'external_tools'),
      'the call',
    );
    await waitLong(run_id);
    await waitLong(run_id);
    const open = (await world.client.runs.get(run_id)).awaits;
    expect(open.map((entry) => entry.kind).sort()).toEqual(['approval', 'external_tools']);
    await world.client.runs.submitToolResults(run_id, {
      results: [{ tool_call_id: 'call_1_1', status: 'success', output: 'x' }],
    });
    const second = open.find((entry) => entry.kind === 'approval');
    await world.client.runs.decideApproval(run_id, {
      await_id: second!.await_id,
      decision: 'deny',
      digest: second!.digest!,
    });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['x', 'denied']);
    expect(ofType(log, 'await_external_tools')).toHaveLength(1);
    expect(ofType(log, 'budget_exceeded')).toEqual([]);
  });

  it('expires at the same moment as without it', async () => {
    const log = await world.run(
      'test.node',
      script([
        { tool_calls: [child([{ tool_calls: [ask('Anyone?')] }, { text: 'nobody' }], 'asker')] },
        { text: 'ok' },
      ]),
    );
    const below = await world.logOf(ofType(log, 'agent_run_started')[0]!.link.run_id);
    const [asked] = ofType(below, 'await_clarification');
    const late = Date.parse(ofType(below, 'await_resolved')[0]!.at) - Date.parse(asked!.expires_at!);
    expect(late).toBeGreaterThanOrEqual(-5);
    // How exactly, `week-long-pauses.test.ts` tells, where time is skipped: this machine may be busy.
    expect(late).toBeLessThan(10_000);
  });

  it('of a child: the child continues as new, its parent stays and hears of the answer', async () => {
    const run_id = await start(
      [{ tool_calls: [child([{ tool_calls: [ask('Which?')] }, { text: 'low' }]), ask('Me too?')] }, { text: 'top' }],
      {
        limits: { run: { time_budget: '4s' } },
      },
    );
    await paused(run_id, 2);
    const [top, low] = [await executionOf(run_id), await executionOf(`${run_id}/call_1_1`)];
    await waitLong(run_id);
    await waitLong(`${run_id}/call_1_1`);
    await world.client.runs.answerClarification(`${run_id}/call_1_1`, {
      await_id: 'clarification_call_1_1',
      answer: 'this',
    });
    await continued(`${run_id}/call_1_1`, low);
    await until(async () => (await world.client.runs.get(run_id)).awaits.length === 1, 'the child');
    expect(await executionOf(run_id)).toBe(top);
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_2', answer: 'yes' });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['low', 'yes']);
    expect(ofType(log, 'child_await_changed').map((event) => event.state)).toEqual(['open', 'resolved']);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'top', tree_usage: { children: 1 } });
    for (const event of await world.logOf(`${run_id}/call_1_1`)) expect(event.parent_run_id).toBe(run_id);
  });

  it('can be canceled', async () => {
    const run_id = await start([{ tool_calls: [ask('Which?')] }]);
    await paused(run_id);
    await waitLong(run_id);
    await world.client.runs.cancel(run_id, { note: 'never mind' });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'canceled' }]);
    expect(log.at(-1)).toMatchObject({ status: 'canceled', cancellation: { note: 'never mind' } });
  });
});

describe('the stock Temporal CLI answers', () => {
  async function temporal(...args: string[]): Promise<string> {
    const { path } = await findServerBinary({ env: process.env, report: () => {} });
    const { stdout } = await run(path, [...args, '--address', inject('temporalAddress')]);
    return stdout;
  }

  it('by update and by signal', async () => {
    const run_id = await start([{ tool_calls: [ask('A?'), ask('B?')] }, { text: 'ok' }]);
    await paused(run_id, 2);
    const answer = (n: number, text: string) => JSON.stringify({ await_id: `clarification_call_1_${n}`, answer: text });
    const bad = temporal(
      'workflow',
      'update',
      'execute',
      '-w',
      run_id,
      '--name',
      'answer_clarification',
      '-i',
      answer(7, 'x'),
    );
    await expect(bad).rejects.toThrow(/no pause of kind clarification/);
    await temporal(
      'workflow',
      'update',
      'execute',
      '-w',
      run_id,
      '--name',
      'answer_clarification',
      '-i',
      answer(1, 'by update'),
    );
    await temporal('workflow', 'signal', '-w', run_id, '--name', 'answer_clarification', '-i', answer(2, 'by signal'));
    expect(results(await world.logOf(run_id))).toEqual(['by update', 'by signal']);
  });
});
