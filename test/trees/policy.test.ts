import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decide, matchesTool } from '../../contract/policy.js';
import type { Policy } from '../../contract/policy.js';
import type { AgentSpec } from '../../contract/agent-spec.js';
import type { Page } from '../../contract/pages.js';
import { call, script } from '../support/test-agents.js';
import { child, treeConfig } from '../support/tree-agents.js';
import { results } from '../support/tree-logs.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const policy = (given: Partial<Policy>): Policy => ({ allow: 'all', deny: [], approve: [], ...given });

describe('deciding', () => {
  it.each([
    ['*', 'web.pages.read', true],
    ['web.*', 'web.pages.read', true],
    ['web.pages.*', 'web.pages.read', true],
    ['web.pages.read', 'web.pages.read', true],
    ['web.pages', 'web.pages.read', false],
    ['web.page.*', 'web.pages.read', false],
    ['we.*', 'web.pages.read', false],
    ['', 'web.pages.read', false],
  ])('%s matches %s: %s', (pattern, tool, expected) => expect(matchesTool(pattern, tool)).toBe(expected));

  const cases: [string, Policy[], string, string | undefined][] = [
    ['no policy at all allows', [], 'allow', undefined],
    ['all', [policy({})], 'allow', undefined],
    ['an empty list allows nothing', [policy({ allow: [] })], 'deny', undefined],
    ['a list without it', [policy({ allow: ['mail.*'] })], 'deny', undefined],
    ['deny wins over allow', [policy({ allow: ['web.*'], deny: ['web.pages.*'] })], 'deny', 'web.pages.*'],
    ['deny wins over approve', [policy({ approve: ['*'], deny: ['web.pages.read'] })], 'deny', 'web.pages.read'],
    ['approve', [policy({ approve: ['web.*'] })], 'approve', 'web.*'],
    [
      'what needs approval need not be allowed as well',
      [policy({ allow: [], approve: ['web.*'] })],
      'approve',
      'web.*',
    ],
    ['all must agree', [policy({}), policy({ allow: ['mail.*'] })], 'deny', undefined],
    ['an ancestor’s deny', [policy({ deny: ['*'] }), policy({ allow: ['web.*'] })], 'deny', '*'],
    [
      'an ancestor’s approval is not allowed away',
      [policy({ approve: ['web.*'] }), policy({ allow: ['web.*'] })],
      'approve',
      'web.*',
    ],
    [
      'a child’s approval does not allow what its ancestor does not',
      [policy({ allow: [] }), policy({ approve: ['*'] })],
      'deny',
      undefined,
    ],
  ];
  it.each(cases)('%s', (_name, policies, decision, rule) => {
    const decided = decide(policies, 'web.pages.read');
    expect(decided.decision).toBe(decision);
    expect(decided.rule).toBe(rule);
    expect(decided.reason).not.toBe('');
  });
});

describe('a run under a policy', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(treeConfig());
  });
  afterAll(() => world.end());

  const echo = call('tools.echo', { text: 'x' });
  const refuse = call('tools.act', { do: 'ok' });

  async function catalogueOf(runId: string): Promise<AgentSpec> {
    const page = await world.temporal.workflow.getHandle(runId).query<Page>('read_context');
    return JSON.parse(page.slices[0]?.text ?? '') as AgentSpec;
  }

  it('calls what is allowed; what is denied is not the same as what is not there', async () => {
    const input = script([{ tool_calls: [echo, refuse, { tool: 'test.tools.nothing', args: {} }] }, { text: 'ok' }]);
    const log = await world.run('test.node', input, { policy: { allow: ['test.tools.*'], deny: ['test.tools.act'] } });
    expect(results(log)).toEqual(['x', 'denied', 'unavailable']);
    expect(ofType(log, 'policy_decided').map(({ tool_id, decision, rule }) => [tool_id, decision, rule])).toEqual([
      ['test.tools.echo', 'allow', undefined],
      ['test.tools.act', 'deny', 'test.tools.act'],
    ]);
    const [denied] = ofType(log, 'tool_result').filter((event) => event.tool_call_id === 'call_1_2');
    expect(denied?.content).toContain('denied by the rule "test.tools.act"');
    for (const type of ['tool_requested', 'tool_result'] as const) {
      const named = Object.fromEntries(
        ofType(log, type).map(({ tool_call_id = '', tool_id }) => [tool_call_id, tool_id]),
      );
      expect(named).toEqual({ call_1_1: 'test.tools.echo', call_1_2: 'test.tools.act', call_1_3: undefined });
    }
    expect(log.at(-1)).toMatchObject({ usage: { tool_calls: 1 } });
  });

  it('says that a call needs approval where the tool’s own function says so, and only there', async () => {
    const spend = (sum: number) => call('guarded.spend', { sum });
    const input = script([{ tool_calls: [spend(1), spend(500), spend(-1), echo] }, { text: 'ok' }]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input });
    for await (const event of world.client.runs.stream(run_id)) {
      if (event.type !== 'await_approval') continue;
      const { await_id, digest } = event;
      await world.client.runs.decideApproval(run_id, { await_id, digest, decision: 'approve' });
    }
    const log = await world.logOf(run_id);
    const decided = ofType(log, 'policy_decided');
    expect(Object.fromEntries(decided.map((event) => [event.tool_call_id ?? '', event.decision]))).toEqual({
      call_1_1: 'allow',
      call_1_2: 'approve',
      call_1_3: 'allow',
      call_1_4: 'allow',
    });
    expect(decided.find(({ decision }) => decision === 'approve')?.reason).toBe(
      'the tool asks for approval of this call',
    );
    expect(decided).toHaveLength(4);
    const asked = log.findIndex(({ type }) => type === 'await_approval');
    for (const event of decided) expect(event.seq).toBeLessThan(asked);
    expect(results(log)).toEqual(['spent 1', 'spent 500', 'internal', 'x']);
  });

  it('the catalogue that the model is shown is the one that is enforced', async () => {
    const log = await world.run('test.node', script([{ text: 'ok' }]), {
      policy: { allow: ['test.tools.*', 'test.agents.node'], deny: ['test.tools.locked'] },
    });
    const spec = await catalogueOf(log[0]!.run_id);
    expect(spec.tools.map((tool) => tool.tool_id)).toEqual([
      'test.tools.echo',
      'test.tools.act',
      'test.tools.quick',
      'test.agents.node',
      // To read on in what they give is part of what they give.
      'runtime.outputs.read_output',
    ]);
    for (const tool of spec.tools) expect(decide(spec.policies ?? [], tool.tool_id).decision).toBe('allow');
    for (const tool of spec.denied_tools ?? []) expect(decide(spec.policies ?? [], tool).decision).toBe('deny');
    expect(spec.denied_tools).toContain('runtime.user.ask_clarification');
  });

  it('an empty allow-list allows nothing', async () => {
    const log = await world.run('test.node', script([{ tool_calls: [echo] }, { text: 'ok' }]), {
      policy: { allow: [] },
    });
    expect(results(log)).toEqual(['denied']);
    expect((await catalogueOf(log[0]!.run_id)).tools).toEqual([]);
  });

  it('a child narrows and never widens', async () => {
    // The child's own policy allows test.tools.* without act; its parent denies echo.
    const below = child(
      [{ tool_calls: [echo, refuse, call('tools.quick', { do: 'ok' })] }, { text: 'below' }],
      'narrow',
    );
    const log = await world.run('test.node', script([{ tool_calls: [below] }, { text: 'ok' }]), {
      policy: { deny: ['test.tools.echo'] },
    });
    const link = ofType(log, 'agent_run_started')[0]!.link;
    expect(results(await world.logOf(link.run_id))).toEqual(['denied', 'denied', 'done']);
    expect((await catalogueOf(link.run_id)).tools.map((tool) => tool.tool_id)).toEqual([
      'test.tools.quick',
      'test.tools.locked',
      'runtime.outputs.read_output',
    ]);
  });

  it('a denied agent starts no child', async () => {
    const log = await world.run('test.node', script([{ tool_calls: [child([{ text: 'no' }])] }, { text: 'ok' }]), {
      policy: { deny: ['test.agents.*'] },
    });
    expect(results(log)).toEqual(['denied']);
    expect(ofType(log, 'agent_run_started')).toEqual([]);
  });

  it('a pattern that is none is refused with its place', async () => {
    const bad = world.client.runs.start({ agent_id: 'test.node', input: 'x', policy: { allow: ['test.*.echo'] } });
    await expect(bad).rejects.toThrow(/policy\.allow/);
  });
});
