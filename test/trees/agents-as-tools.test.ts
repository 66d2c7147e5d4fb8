import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, script } from '../support/test-agents.js';
import { child, treeConfig } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

const echo = (text: string) => call('tools.echo', { text });
const run = (turns: Parameters<typeof script>[0], request = {}) => world.run('test.node', script(turns), request);

describe('an agent as a tool', () => {
  it('is a run of its own, linked from its parent before and after', async () => {
    const log = await run([
      { tool_calls: [child([{ tool_calls: [echo('x')] }, { text: 'from below' }])] },
      { text: 'on top' },
    ]);
    const root = log[0]!.run_id;
    const link = { run_id: `${root}/call_1_1`, agent_id: 'test.node', stream_key: `perdure.run.${root}/call_1_1` };
    const ids = { step_id: 'step_1', tool_id: 'test.agents.node', tool_call_id: 'call_1_1' };
    expect(ofType(log, 'agent_run_started')).toMatchObject([{ ...ids, link }]);
    expect(ofType(log, 'tool_result')).toMatchObject([{ ...ids, status: 'success', content: 'from below', link }]);
    const order = log.filter((event) => event.tool_call_id === 'call_1_1').map((event) => event.type);
    expect(order).toEqual(['tool_requested', 'policy_decided', 'tool_scheduled', 'agent_run_started', 'tool_result']);
    const below = await world.logOf(link.run_id);
    for (const event of below) {
      expect(event).toMatchObject({ root_run_id: root, parent_run_id: root, parent_tool_call_id: 'call_1_1' });
    }
    expect(below.at(-1)).toMatchObject({ status: 'success', answer: 'from below', tree_usage: { model_calls: 2 } });
    expect(log.at(-1)).toMatchObject({
      usage: { model_calls: 2, tool_calls: 1, steps: 2, children: 1 },
      tree_usage: { model_calls: 4, tool_calls: 2, steps: 4, children: 1 },
    });
  });

  it('the same agent twice in a batch is two children, beside ordinary tools, in one race', async () => {
    const slow = child([{ tool_calls: [call('tools.act', { do: 'sleep', ms: 300 })] }, { text: 'slow' }]);
    const log = await run([{ tool_calls: [slow, child([{ text: 'quick' }]), echo('tool')] }, { text: 'all' }]);
    expect(results(log)).toEqual(['slow', 'quick', 'tool']);
    expect(ofType(log, 'tool_result').map((event) => event.tool_call_id)).toEqual(['call_1_3', 'call_1_2', 'call_1_1']);
    // The server starts them at the same time, in either order.
    const started = ofType(log, 'agent_run_started').map((event) => event.link.run_id.split('/')[1]);
    expect(started.toSorted()).toEqual(['call_1_1', 'call_1_2']);
  });

  it('three levels and ten runs', async () => {
    const leaf = (name: string) => child([{ text: name }]);
    const middle = (name: string) => child([{ tool_calls: [leaf(`${name}1`), leaf(`${name}2`)] }, { text: name }]);
    const log = await run([{ tool_calls: [middle('a'), middle('b'), middle('c')] }, { text: 'top' }]);
    expect(results(log)).toEqual(['a', 'b', 'c']);
    const logs = await treeLogs(world.logOf, log[0]!.run_id);
    expect(logs.size).toBe(10);
    for (const [id, of] of logs) {
      expect(of.at(-1)).toMatchObject({ type: 'run_completed', status: 'success', root_run_id: log[0]!.run_id });
      expect(id.split('/').length - 1).toBeLessThanOrEqual(2);
    }
    expect(log.at(-1)).toMatchObject({ tree_usage: { children: 9, model_calls: 14 } });
  });

  it('its prompt is a template or a function of the arguments', async () => {
    const log = await run([
      {
        tool_calls: [
          { tool: 'test.agents.templated', args: { greeting: 'hello', count: 3 } },
          { tool: 'test.agents.prompted', args: { words: ['a', 'b'] } },
        ],
      },
      { text: 'ok' },
    ]);
    expect(results(log)).toEqual(['hello 3', 'a-b']);
  });

  it('a prompt that is empty or breaks, and arguments that do not fit, start nothing', async () => {
    const log = await run([
      {
        tool_calls: [
          { tool: 'test.agents.prompted', args: { words: [] } },
          { tool: 'test.agents.prompted', args: { words: ['throw'] } },
          { tool: 'test.agents.node', args: { script: 7 } },
          { tool: 'test.agents.node', args: '{"half' },
        ],
      },
      { text: 'ok' },
    ]);
    expect(results(log)).toEqual(['internal', 'internal', 'invalid_call', 'invalid_call']);
    expect(ofType(log, 'agent_run_started')).toEqual([]);
    expect(ofType(log, 'tool_scheduled')).toEqual([]);
    expect(log.at(-1)).toMatchObject({ status: 'success', usage: { tool_calls: 0 } });
  });

  it('a finalizer gets the child’s run and makes the result; its failure is the call’s', async () => {
    const below = (answer: string) => child([{ tool_calls: [echo('x')] }, { text: answer }], 'finalized');
    const log = await run([
      { tool_calls: [below('shout'), below('throw'), below('refuse'), below('big')] },
      { text: 'ok' },
    ]);
    const root = log[0]!.run_id;
    const [shout, thrown, refused, big] = ofType(log, 'tool_result').sort((a, b) =>
      (a.tool_call_id ?? '').localeCompare(b.tool_call_id ?? ''),
    );
    expect(JSON.parse(shout?.content as string)).toMatchObject({
      answer: 'SHOUT',
      parent: root,
      calls: 1,
      run: { run_id: `${root}/call_1_1`, parent_run_id: root, parent_tool_call_id: 'call_1_1' },
    });
    expect(thrown).toMatchObject({
      status: 'error',
      failure: { kind: 'internal' },
      link: { run_id: `${root}/call_1_2` },
    });
    expect(thrown?.content).not.toContain('cannot add up');
    expect(thrown?.status === 'error' && thrown.debug_message).toContain('cannot add up');
    expect(refused).toMatchObject({ status: 'error', failure: { kind: 'rate_limited', message: 'later' } });
    expect(big).toMatchObject({ status: 'success', trimmed: true, output_ref: { byte_size: 200_000 } });
  });

  it('a child that fails is a failed call, with its link and its usage', async () => {
    const broken = child([{ tool_calls: [echo('x')] }, { fail: { code: 'model_bad_request' } }]);
    const log = await run([{ tool_calls: [broken, echo('beside')] }, { text: 'went on' }]);
    expect(results(log)).toEqual(['internal', 'beside']);
    const [failed] = ofType(log, 'tool_result').filter((event) => event.link !== undefined);
    expect(failed?.content).toContain('failed');
    expect(log.at(-1)).toMatchObject({ status: 'success', tree_usage: { tool_calls: 3 } });
    const status = await world.temporal.workflow.getHandle(failed!.link!.run_id).describe();
    expect(status.status.name).toBe('COMPLETED');
  });

  it('a child that is terminated from outside is a failed call, and settles at its full lease', async () => {
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.node',
      input: script([{ tool_calls: [child([{ text: ['well'], hang: true }])] }, { text: 'alone' }]),
      limits: { tree: { max_tool_calls: 21 } },
    });
    await until(async () => (await world.client.runs.get(run_id)).children.length === 1, 'the child');
    await world.temporal.workflow.getHandle(`${run_id}/call_1_1`).terminate('by hand');
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['internal']);
    expect(ofType(log, 'tool_result')).toMatchObject([{ link: { run_id: `${run_id}/call_1_1` } }]);
    // 20 were left, half of them leased.
    expect(log.at(-1)).toMatchObject({ status: 'success', usage: { tool_calls: 1 }, tree_usage: { tool_calls: 11 } });
  });

  it('a child that is canceled on its own is a canceled call, and its parent goes on', async () => {
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.node',
      input: script([{ tool_calls: [child([{ text: ['well'], hang: true }]), echo('x')] }, { text: 'alone' }]),
    });
    await until(async () => (await world.client.runs.get(run_id)).children.length === 1, 'the child');
    await world.client.runs.cancel(`${run_id}/call_1_1`, { reason: 'user_requested', note: 'not this one' });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['canceled', 'x']);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'alone' });
    expect((await world.logOf(`${run_id}/call_1_1`)).at(-1)).toMatchObject({
      status: 'canceled',
      cancellation: { reason: 'user_requested', note: 'not this one' },
    });
  });

  it('calls with the same concurrency key do not overlap; others do', async () => {
    const locked = (key: string) => call('tools.locked', { key, ms: 150 });
    const log = await run([{ tool_calls: [locked('a'), locked('a'), locked('b'), locked('a')] }, { text: 'ok' }]);
    const times = results(log).map((text) => JSON.parse(text as string) as { from: number; to: number });
    const [a1, a2, b, a3] = times as [
      { from: number; to: number },
      (typeof times)[0],
      (typeof times)[0],
      (typeof times)[0],
    ];
    expect(a2!.from).toBeGreaterThanOrEqual(a1.to);
    expect(a3!.from).toBeGreaterThanOrEqual(a2!.to);
    expect(b!.from).toBeLessThan(a1.to);
  });

  it('a run that names a parent without being a child is refused', async () => {
    const parent = {
      run_id: 'someone',
      root_run_id: 'someone',
      tool_call_id: 'call_1_1',
      depth: 1,
      lease: {},
      policies: [],
    };
    const log = await run([{ text: 'hi' }], { parent });
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'invalid_request' } });
    expect(log[0]).not.toHaveProperty('parent_run_id');
  });
});

describe('the shape of the tree is limited', () => {
  const deep = (levels: number): Parameters<typeof script>[0] =>
    levels === 0
      ? [{ text: 'bottom' }]
      : [{ tool_calls: [child(deep(levels - 1), 'node', { text: 'no deeper' })] }, { text: `level ${levels}` }];

  it('max_depth', async () => {
    const log = await run(deep(4), { limits: { tree: { max_depth: 2 } } });
    const logs = await treeLogs(world.logOf, log[0]!.run_id);
    expect(logs.size).toBe(3);
    const lowest = [...logs.values()].at(-1)!;
    expect(ofType(lowest, 'budget_exceeded')).toMatchObject([{ scope: 'tree', limit: 'max_depth', maximum: 2 }]);
    expect(results(lowest)).toEqual(['capped']);
    expect(lowest.at(-1)).toMatchObject({ status: 'success', answer: 'no deeper' });
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'level 4' });
  });

  it('max_children of a run, and of a tree, refuse the batch whole', async () => {
    const two = [child([{ text: 'a' }]), child([{ text: 'b' }])];
    const turns = script([{ tool_calls: two }, { tool_calls: [...two, echo('x')] }], { text: 'enough' });
    for (const [scope, limits] of [
      ['run', { run: { max_children: 3 } }],
      ['tree', { tree: { max_children: 3 } }],
    ] as const) {
      const log = await world.run('test.node', turns, { limits });
      expect(results(log)).toEqual(['a', 'b', 'capped', 'capped', 'capped']);
      expect(ofType(log, 'budget_exceeded')).toMatchObject([
        { scope, limit: 'max_children', maximum: 3, used: 2, requested: 2 },
      ]);
      expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'enough', tree_usage: { children: 2 } });
    }
  });
});
