import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../kit/index.js';
import { call, script } from '../support/test-agents.js';
import { ask, treeConfig } from '../support/tree-agents.js';
import { results } from '../support/tree-logs.js';
import { createWorld, ofType, phases, until } from '../support/world.js';
import type { World } from '../support/world.js';

let currency = 'EUR';
const transfer = defineTool({
  tool_id: 'test.guarded.transfer',
  description: 'Sends money.',
  input: z.object({ to: z.string().trim(), sum: z.number(), currency: z.string().default(() => currency) }),
  idempotent: true,
  approval: 'always',
  run: (input) => JSON.stringify(input),
});

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig({}, { tools: [transfer] }));
});
afterAll(() => world.end());

type Turns = Parameters<typeof script>[0];

async function pausedRun(turns: Turns, request: Record<string, unknown> = {}, awaits = 1) {
  const input = script(turns, { text: 'in short' });
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input, ...request });
  await until(async () => (await world.client.runs.get(run_id)).awaits.length >= awaits, 'the pause');
  return { run_id, awaits: (await world.client.runs.get(run_id)).awaits };
}

const client_tools = [
  { name: 'client_pick', description: 'Picks.', input_schema: { type: 'object', properties: {} } },
  { name: 'client_show', description: 'Shows.', input_schema: { type: 'object', properties: {} } },
];
const pick = (n: number) => ({ tool: 'client.declared.client_pick', args: { n } });

describe('a clarification', () => {
  it('pauses the run until it is answered; the answer is the result', async () => {
    const { run_id, awaits } = await pausedRun([{ tool_calls: [ask('Which?', ['a', 'b'])] }, { text: 'ok' }]);
    expect(awaits).toEqual([
      { await_id: 'clarification_call_1_1', kind: 'clarification', run_id, question: 'Which?', choices: ['a', 'b'] },
    ]);
    await world.client.runs.answerClarification(run_id, {
      await_id: 'clarification_call_1_1',
      answer: 'b',
      answered_by: 'me',
    });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['b']);
    expect(phases(log)).toEqual(['prompted', 'planning', 'executing_tools', 'planning', 'completed']);
    const order = log.map((event) => event.type).filter((type) => /await|tool_/.test(type));
    expect(order).toEqual(['tool_requested', 'await_clarification', 'await_resolved', 'tool_result']);
    expect(ofType(log, 'await_clarification')).toMatchObject([{ tool_call_id: 'call_1_1', step_id: 'step_1' }]);
    expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'answered', answered_by: 'me' }]);
    expect((await world.client.runs.get(run_id)).awaits).toEqual([]);
  });

  it('without a question is an invalid call, and asks nobody', async () => {
    const input = script([
      { tool_calls: [{ tool: 'runtime.user.ask_clarification', args: { choices: ['a'] } }] },
      { text: 'ok' },
    ]);
    const log = await world.run('test.node', input);
    expect(results(log)).toEqual(['invalid_call']);
    expect(ofType(log, 'await_clarification')).toEqual([]);
  });

  it('whose answer is large is trimmed like any output', async () => {
    const { run_id } = await pausedRun([{ tool_calls: [ask('Which?')] }, { text: 'ok' }]);
    const answer = 'ü'.repeat(60_000);
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'tool_result')).toMatchObject([
      { status: 'success', trimmed: true, output_ref: { byte_size: 120_000 } },
    ]);
  });

  it('that needs approval is asked after it, and not at all when it is denied', async () => {
    const policy = { approve: ['runtime.user.*'] };
    const { run_id, awaits } = await pausedRun([{ tool_calls: [ask('A?'), ask('B?')] }, { text: 'ok' }], { policy }, 2);
    expect(awaits.map((entry) => entry.kind)).toEqual(['approval', 'approval']);
    const [first, second] = awaits;
    await world.client.runs.decideApproval(run_id, {
      await_id: first!.await_id,
      decision: 'deny',
      digest: first!.digest!,
    });
    await world.client.runs.decideApproval(run_id, {
      await_id: second!.await_id,
      decision: 'approve',
      digest: second!.digest!,
    });
    await until(async () => (await world.client.runs.get(run_id)).awaits[0]?.kind === 'clarification', 'the question');
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_2', answer: 'yes' });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['denied', 'yes']);
    expect(ofType(log, 'await_clarification')).toHaveLength(1);
    expect(ofType(log, 'await_resolved')).toHaveLength(3);
  });
});

describe('client tools', () => {
  it('of a batch are one pause, and results may come in parts, good and bad', async () => {
    const turns: Turns = [
      { tool_calls: [pick(1), pick(2), pick(3), call('tools.echo', { text: 'mine' })] },
      { text: 'ok' },
    ];
    const { run_id, awaits } = await pausedRun(turns, { client_tools });
    expect(awaits).toMatchObject([
      {
        kind: 'external_tools',
        calls: [{ tool_call_id: 'call_1_1', name: 'client.declared.client_pick', arguments: '{"n":1}' }, {}, {}],
      },
    ]);
    const submit = (results_: object[]) => world.client.runs.submitToolResults(run_id, { results: results_ as never });
    await submit([{ tool_call_id: 'call_1_2', status: 'declined' }]);
    await expect(submit([{ tool_call_id: 'call_1_2', status: 'success' }])).rejects.toThrow(
      /call_1_2 has its result already/,
    );
    await expect(submit([{ tool_call_id: 'call_1_4', status: 'success' }])).rejects.toThrow(
      /no pause of kind external_tools/,
    );
    await expect(
      submit([
        { tool_call_id: 'call_1_1', status: 'success' },
        { tool_call_id: 'call_1_4', status: 'success' },
      ]),
    ).rejects.toThrow(/call_1_4 was not asked/);
    await expect(submit([{ tool_call_id: 'call_1_1', status: 'fine' }])).rejects.toThrow(/results\[0\].status/);
    await expect(submit([{ tool_call_id: 'call_1_1', status: 'success', runtime_ms: -1 }])).rejects.toThrow(
      /runtime_ms/,
    );
    await expect(
      submit([
        { tool_call_id: 'call_1_1', status: 'success' },
        { tool_call_id: 'call_1_1', status: 'error' },
      ]),
    ).rejects.toThrow(/answered twice/);
    await submit([
      { tool_call_id: 'call_1_3', status: 'error', output: 'no network' },
      { tool_call_id: 'call_1_1', status: 'success', output: { picked: 7 }, runtime_ms: 12.4 },
    ]);
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['{"picked":7}', 'denied', 'internal', 'mine']);
    const byCall = (id: string) => ofType(log, 'tool_result').find((event) => event.tool_call_id === id);
    expect(byCall('call_1_1')).toMatchObject({ duration_ms: 12 });
    expect(byCall('call_1_3')?.content).toContain('no network');
    expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'answered' }]);
  });

  it('that need approval are asked one by one, after it', async () => {
    const { run_id, awaits } = await pausedRun([{ tool_calls: [pick(1)] }, { text: 'ok' }], {
      client_tools,
      policy: { approve: ['client.declared.client_pick'] },
    });
    const [approval] = awaits;
    await world.client.runs.decideApproval(run_id, {
      await_id: approval!.await_id,
      decision: 'approve',
      digest: approval!.digest!,
    });
    await until(async () => (await world.client.runs.get(run_id)).awaits[0]?.kind === 'external_tools', 'the call');
    await world.client.runs.submitToolResults(run_id, {
      results: [{ tool_call_id: 'call_1_1', status: 'success', output: 'x' }],
    });
    expect(results(await world.logOf(run_id))).toEqual(['x']);
  });

  it('that are declared twice, or misnamed, are refused', async () => {
    const log = await world.run('test.node', script([{ text: 'x' }]), {
      client_tools: [client_tools[0], client_tools[0]],
    });
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'invalid_request' } });
    const bad = world.client.runs.start({
      agent_id: 'test.node',
      input: 'x',
      client_tools: [{ name: 'pick', description: 'x', input_schema: {} }],
    });
    await expect(bad).rejects.toThrow(/client_/);
  });
});

describe('an approval', () => {
  const spend = (sum: number) => call('guarded.spend', { sum });
  const always = (text: string) => call('guarded.always', { text });

  it('is not asked for a call whose arguments have a key twice: nobody could say which one runs', async () => {
    const twice = '{"text":"harmless","text":"harmful"}';
    const input = script([
      { tool_calls: [always('x'), { tool: 'test.tools.echo', args: twice }].map((each) => ({ ...each, args: twice })) },
      { text: 'ok' },
    ]);
    const log = await world.run('test.node', input);
    expect(results(log)).toEqual(['invalid_call', 'invalid_call']);
    expect(ofType(log, 'await_approval')).toEqual([]);
    expect(ofType(log, 'tool_result')[0]?.content).toContain('have "text" twice in one object');
  });

  it('is asked always, by a function of the arguments, or by policy; the rest runs meanwhile', async () => {
    const turns: Turns = [
      {
        tool_calls: [
          spend(50),
          spend(500),
          always('a'),
          call('tools.echo', { text: 'b' }),
          spend(-1),
          always(3 as never),
        ],
      },
      { text: 'ok' },
    ];
    const { run_id, awaits } = await pausedRun(turns, { policy: { approve: ['test.tools.*'] } }, 3);
    expect(awaits.map((entry) => [entry.await_id, entry.calls?.[0]?.arguments])).toEqual([
      ['approval_call_1_2', '{"sum":500}'],
      ['approval_call_1_3', '{"text":"a"}'],
      ['approval_call_1_4', '{"text":"b"}'],
    ]);
    expect(new Set(awaits.map((entry) => entry.digest)).size).toBe(3);
    expect(awaits[0]?.rendering).toBe('{"sum":500}\ntest.guarded.spend');
    const decide = (n: number, decision: 'approve' | 'deny', note?: string) =>
      world.client.runs.decideApproval(run_id, {
        await_id: awaits[n]!.await_id,
        decision,
        digest: awaits[n]!.digest!,
        answered_by: 'boss',
        ...(note === undefined ? {} : { note }),
      });
    await decide(0, 'deny', 'too much');
    await decide(1, 'approve');
    await decide(2, 'approve');
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['spent 50', 'denied', 'done: a', 'b', 'internal', 'invalid_call']);
    const denied = ofType(log, 'tool_result').find((event) => event.tool_call_id === 'call_1_2');
    expect(denied?.content).toContain('too much');
    expect(ofType(log, 'await_resolved').map((event) => [event.resolution, event.note, event.answered_by])).toEqual([
      ['denied', 'too much', 'boss'],
      ['approved', undefined, 'boss'],
      ['approved', undefined, 'boss'],
    ]);
    const scheduled = ofType(log, 'tool_scheduled').map((event) => event.tool_call_id);
    expect(scheduled.sort()).toEqual(['call_1_1', 'call_1_3', 'call_1_4']);
  });

  it('shows what the tool would be given: with its defaults, without what it never sees, and all of it visible', async () => {
    const args = { to: ' ann\u202e ', sum: 5, memo: 'for bob, of course' };
    const { run_id, awaits } = await pausedRun([
      { tool_calls: [{ tool: 'test.guarded.transfer', args }] },
      { text: 'ok' },
    ]);
    const given = '{"to":"ann\u202e","sum":5,"currency":"EUR"}';
    const rendering = '{"to":"ann\\u202e","sum":5,"currency":"EUR"}\ntest.guarded.transfer';
    expect(awaits).toMatchObject([{ calls: [{ arguments: given }], rendering }]);
    const [{ await_id, digest = '' }] = awaits as [(typeof awaits)[0]];
    await world.client.runs.decideApproval(run_id, { await_id, digest, decision: 'approve' });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'await_approval')).toMatchObject([{ arguments: given, rendering, digest }]);
    expect(results(log)).toEqual([given]);
    const plain = await pausedRun([{ tool_calls: [call('guarded.always', { text: 'x' })] }, { text: 'ok' }]);
    await world.client.runs.cancel(plain.run_id);
    expect(ofType(await world.logOf(plain.run_id), 'await_approval')[0]).not.toHaveProperty('rendering');
  });

  it('of a tool of the runtime’s own is one for what it is given', async () => {
    const args = { output_id: 'none', offset: 0, length: null };
    const { run_id, awaits } = await pausedRun(
      [{ tool_calls: [{ tool: 'runtime.outputs.read_output', args }] }, { text: 'ok' }],
      { policy: { approve: ['*'] } },
    );
    const [{ await_id, digest = '' }] = awaits as [(typeof awaits)[0]];
    await world.client.runs.decideApproval(run_id, { await_id, digest, decision: 'approve' });
    // There is no such output, which the tool itself has found out.
    expect(results(await world.logOf(run_id))).toEqual(['invalid_call']);
  });

  it('is no leave for what a tool makes of the same words later', async () => {
    const args = { to: 'ann', sum: 5 };
    const { run_id, awaits } = await pausedRun([
      { tool_calls: [{ tool: 'test.guarded.transfer', args }] },
      { text: 'ok' },
    ]);
    const [{ await_id, digest = '' }] = awaits as [(typeof awaits)[0]];
    // As after a deploy.
    currency = 'BTC';
    try {
      await world.client.runs.decideApproval(run_id, { await_id, digest, decision: 'approve' });
      const log = await world.logOf(run_id);
      expect(results(log)).toEqual(['denied']);
      expect(JSON.stringify(log)).toContain('other arguments by now than those that were approved');
    } finally {
      currency = 'EUR';
    }
  });

  it('is bound to the digest of tool and arguments', async () => {
    const { run_id, awaits } = await pausedRun([{ tool_calls: [always('a'), always('b')] }, { text: 'ok' }], {}, 2);
    const [a, b] = awaits;
    const wrong = world.client.runs.decideApproval(run_id, {
      await_id: a!.await_id,
      decision: 'approve',
      digest: b!.digest!,
    });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request' });
    for (const entry of awaits) {
      await world.client.runs.decideApproval(run_id, {
        await_id: entry.await_id,
        decision: 'approve',
        digest: entry.digest!,
      });
    }
    expect(results(await world.logOf(run_id))).toEqual(['done: a', 'done: b']);
  });

  it('of an agent that is denied starts no child, and its lease comes back', async () => {
    const below = { tool: 'test.agents.approved', args: { script: script([{ text: 'below' }]) } };
    const { run_id, awaits } = await pausedRun(
      [
        { tool_calls: [below] },
        { tool_calls: Array.from({ length: 8 }, () => call('tools.echo', { text: 'x' })) },
        { text: 'ok' },
      ],
      { limits: { tree: { max_tool_calls: 9, max_children: 1 } } },
    );
    await world.client.runs.decideApproval(run_id, {
      await_id: awaits[0]!.await_id,
      decision: 'deny',
      digest: awaits[0]!.digest!,
    });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['denied', ...Array.from({ length: 8 }, () => 'x')]);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'ok', tree_usage: { tool_calls: 9, children: 0 } });
  });
});

describe('an answer that does not fit changes nothing', () => {
  it('as an update it is refused with the reason', async () => {
    const { run_id } = await pausedRun([{ tool_calls: [ask('Which?')] }, { text: 'ok' }]);
    const handle = world.temporal.workflow.getHandle(run_id);
    const before = (await world.client.runs.get(run_id)).tail;
    const update = (name: string, arg?: unknown) =>
      handle.executeUpdate(name, { args: [arg] }).then(
        () => 'taken',
        (error: Error) => (error.cause as Error | undefined)?.message ?? error.message,
      );
    const id = 'clarification_call_1_1';
    expect(await update('answer_clarification')).toMatch(/no object/);
    expect(await update('answer_clarification', 'b')).toMatch(/no object/);
    expect(await update('answer_clarification', { await_id: id })).toMatch(/answer must be a text/);
    expect(await update('answer_clarification', { await_id: id, answer: 3 })).toMatch(/answer must be a text/);
    expect(await update('answer_clarification', { await_id: 'other', answer: 'x' })).toMatch(
      /no pause of kind clarification for other. Open: clarification_call_1_1 \(clarification\)/,
    );
    expect(await update('decide_approval', { await_id: id, decision: 'approve', digest: 'x' })).toMatch(
      /no pause of kind approval/,
    );
    expect(await update('decide_approval', { await_id: id, decision: 'maybe', digest: 'x' })).toMatch(
      /"approve" or "deny"/,
    );
    expect(await update('submit_tool_results', { results: [] })).toMatch(/at least one/);
    expect(await update('submit_tool_results', { results: [null] })).toMatch(/tool_call_id must be/);
    expect(
      await update('submit_tool_results', { await_id: id, results: [{ tool_call_id: 'call_1_1', status: 'success' }] }),
    ).toMatch(/no pause/);
    expect((await world.client.runs.get(run_id)).tail).toBe(before);
    expect(await update('answer_clarification', { await_id: id, answer: 'b' })).toBe('taken');
    expect(await update('answer_clarification', { await_id: id, answer: 'c' })).toMatch(
      /answered already|already completed|not found/i,
    );
    expect(results(await world.logOf(run_id))).toEqual(['b']);
  });

  it('as a signal it leaves answer_rejected, never throws, and a good one is taken', async () => {
    const { run_id } = await pausedRun([{ tool_calls: [ask('Which?'), ask('Why?')] }, { text: 'ok' }], {}, 2);
    const handle = world.temporal.workflow.getHandle(run_id);
    const bad: [string, unknown][] = [
      ['answer_clarification', undefined],
      ['answer_clarification', null],
      ['answer_clarification', 7],
      ['answer_clarification', { await_id: 'x'.repeat(1000), answer: 'x' }],
      ['answer_clarification', { await_id: {}, answer: [] }],
      ['submit_tool_results', { results: 'all' }],
      ['submit_tool_results', { results: [{}] }],
      ['decide_approval', { await_id: 'clarification_call_1_1', decision: 'approve', digest: '' }],
    ];
    for (const [name, arg] of bad) await handle.signal(name, arg);
    for (const notice of [undefined, null, 3, {}, { via: 'x' }, { via: run_id, paused: true, changes: [{}] }]) {
      await handle.signal('child_await', notice);
    }
    await handle.signal('answer_clarification', { await_id: 'clarification_call_1_1', answer: 'this' });
    await handle.signal('answer_clarification', { await_id: 'clarification_call_1_1', answer: 'no, that' });
    await until(async () => (await world.client.runs.get(run_id)).awaits.length === 1, 'the first answer');
    await handle.signal('answer_clarification', { await_id: 'clarification_call_1_2', answer: 'because' });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['this', 'because']);
    expect(ofType(log, 'answer_rejected')).toHaveLength(bad.length + 1);
    expect(ofType(log, 'answer_rejected').at(-1)).toMatchObject({
      await_id: 'clarification_call_1_1',
      reason: expect.stringMatching(/first answer stands/) as string,
    });
    expect(ofType(log, 'child_await_changed')).toEqual([]);
  });

  it('the same update sent twice is one answer', async () => {
    const { run_id } = await pausedRun([{ tool_calls: [ask('A?'), ask('B?')] }, { text: 'ok' }], {}, 2);
    const handle = world.temporal.workflow.getHandle(run_id);
    const updateId = randomUUID();
    const send = () =>
      handle.executeUpdate('answer_clarification', {
        args: [{ await_id: 'clarification_call_1_1', answer: 'a' }],
        updateId,
      });
    expect(await send()).toEqual({ run_id });
    expect(await send()).toEqual({ run_id });
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_2', answer: 'b' });
    expect(ofType(await world.logOf(run_id), 'await_resolved')).toHaveLength(2);
  });

  it('a run that waits for nothing says so', async () => {
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.node',
      input: script([{ text: ['x'], hang: true }]),
    });
    const answer = world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'a' });
    await expect(answer).rejects.toThrow(/waits for nothing/);
    await world.client.runs.cancel(run_id);
    await expect(world.temporal.workflow.getHandle(run_id).result()).rejects.toThrow();
    const late = world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'a' });
    await expect(late).rejects.toMatchObject({ code: 'run_ended' });
  });
});

describe('time and pauses', () => {
  it('a pause that nobody answers expires, and the model is told', async () => {
    const input = script([
      {
        tool_calls: [
          {
            tool: 'test.agents.asker',
            args: { script: script([{ tool_calls: [ask('Anyone?')] }, { text: 'nobody' }]) },
          },
        ],
      },
      { text: 'ok' },
    ]);
    const log = await world.run('test.node', input);
    expect(results(log)).toEqual(['nobody']);
    const below = await world.logOf(ofType(log, 'agent_run_started')[0]!.link.run_id);
    const [asked] = ofType(below, 'await_clarification');
    expect(Date.parse(asked!.expires_at!) - Date.parse(asked!.at)).toBe(1000);
    expect(ofType(below, 'await_resolved')).toMatchObject([{ resolution: 'expired' }]);
    expect(ofType(below, 'tool_result')).toMatchObject([{ status: 'error', failure: { kind: 'expired' } }]);
    expect(ofType(below, 'tool_result')[0]?.content).toContain('did not answer in time');
    expect(ofType(log, 'child_await_changed').map((event) => event.state)).toEqual(['open', 'resolved']);
  });

  it('a pause does not use the time budget, and what is left of it still counts afterwards', async () => {
    const { run_id } = await pausedRun([{ tool_calls: [ask('Which?')] }, { text: ['well'], hang: true }], {
      limits: { run: { time_budget: '2s' } },
    });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'this' });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['this']);
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ limit: 'time_budget' }]);
    const end = log.at(-1)!;
    expect(end).toMatchObject({ status: 'success', answer: 'in short' });
    const took = end.type === 'run_completed' ? end.duration_ms : 0;
    expect(took).toBeGreaterThan(4_000);
    expect(ofType(log, 'budget_exceeded')[0]!.used).toBeLessThan(took - 2_300);
  });

  it('a pause beside a tool that works does use it', async () => {
    const { run_id } = await pausedRun(
      [{ tool_calls: [ask('Which?'), call('tools.locked', { key: 'k', ms: 60_000 })] }],
      { limits: { run: { time_budget: '1500ms' } } },
    );
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['timeout', 'timeout']);
    expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'canceled' }]);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'in short' });
  });
});
