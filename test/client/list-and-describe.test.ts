/** Listing runs by visibility, and what the server knows of a run at once. */
import { randomUUID } from 'node:crypto';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workerPolls } from '../../client/worker-polls.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { call, script } from '../support/test-agents.js';
import { child, treeConfig } from '../support/tree-agents.js';

let world: World;
const hello = script([{ text: 'hello' }]);

beforeAll(async () => {
  world = await createWorld({ ...treeConfig({ continue_as_new_after_events: 12 }) });
});
afterAll(() => world.end());

async function start(request: Record<string, unknown>): Promise<string> {
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input: hello, ...request });
  await world.logOf(run_id);
  return run_id;
}

describe('describe', () => {
  it('knows the owner and the digest as soon as the run is started', async () => {
    const request = { agent_id: 'test.node', input: hello, org_id: 'acme', created_by: 'ann' };
    const { run_id } = await world.client.runs.start(request, { request_digest: 'd1' });
    expect(await world.client.runs.describe(run_id)).toEqual({
      run_id,
      agent_id: 'test.node',
      org_id: 'acme',
      created_by: 'ann',
      request_digest: 'd1',
    });
    await world.logOf(run_id);
  });

  it('still knows them after the run has continued as new', async () => {
    const steps = Array.from({ length: 6 }, (_, n) => ({ tool_calls: [call('tools.echo', { text: String(n) })] }));
    const request = { agent_id: 'test.node', input: script([...steps, { text: 'done' }]), org_id: 'acme' };
    const { run_id } = await world.client.runs.start({ ...request, created_by: 'ann' }, { request_digest: 'd2' });
    const first = await world.temporal.workflow.getHandle(run_id).describe();
    await world.logOf(run_id);
    const last = await world.temporal.workflow.getHandle(run_id).describe();
    expect(last.runId).not.toBe(first.runId);
    expect(await world.client.runs.describe(run_id)).toMatchObject({ org_id: 'acme', request_digest: 'd2' });
  });

  it('falls back to what a run set itself where it was started without our client', async () => {
    const runId = `stock-${randomUUID()}`;
    await world.temporal.workflow.start('agentRun', {
      workflowId: runId,
      taskQueue: world.server.taskQueue,
      args: [{ agent_id: 'test.node', input: hello, org_id: 'globex', created_by: 'gus' }],
    });
    await world.logOf(runId);
    expect(await world.client.runs.describe(runId)).toEqual({
      run_id: runId,
      agent_id: 'test.node',
      org_id: 'globex',
      created_by: 'gus',
    });
  });

  it.each(['no-such-run', 'no/such/child', '', 'x'.repeat(2_000), 'nul\0', 'ü/💥'])(
    'says that there is no run %j',
    async (runId) => {
      await expect(world.client.runs.describe(runId)).rejects.toMatchObject({ code: 'unknown_run' });
    },
  );

  it('takes a workflow that is no run for none', async () => {
    const workflowId = `other-${randomUUID()}`;
    const handle = await world.temporal.workflow.start('somethingElse', { workflowId, taskQueue: 'nobody', args: [] });
    await expect(world.client.runs.describe(workflowId)).rejects.toMatchObject({ code: 'unknown_run' });
    await handle.terminate();
  });
});

describe('start', () => {
  it('makes up an id that says whose run it is', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input: hello });
    expect(run_id).toMatch(/^test\.node-[0-9a-f]{8}-[0-9a-f-]{27}$/);
    await world.logOf(run_id);
  });
});

describe('list', () => {
  const org = `org-${randomUUID()}`;
  const ids: string[] = [];

  beforeAll(async () => {
    const parent = script([{ tool_calls: [child([{ text: 'below' }])] }, { text: 'above' }]);
    ids.push(await start({ org_id: org, created_by: 'ann', thread_id: 'thread-1', input: parent }));
    for (let n = 0; n < 4; n++) ids.push(await start({ org_id: org, created_by: 'bob', thread_id: `it is ${n} %` }));
    await until(async () => (await listed({ org_id: org, phase: 'completed' })).length === 5, 'all to be listed');
  });

  async function listed(filter: Parameters<World['client']['runs']['list']>[0]): Promise<string[]> {
    return (await world.client.runs.list(filter)).runs.map(({ run_id }) => run_id);
  }

  it('shows the roots of an org with what they are, and no children', async () => {
    const { runs, next_cursor } = await world.client.runs.list({ org_id: org });
    expect(runs.map(({ run_id }) => run_id).toSorted()).toEqual(ids.toSorted());
    expect(next_cursor).toBeUndefined();
    expect(runs.find(({ run_id }) => run_id === ids[0])).toEqual({
      run_id: ids[0],
      agent_id: 'test.node',
      phase: 'completed',
      thread_id: 'thread-1',
      created_by: 'ann',
      engine_status: 'completed',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      ended_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it('filters by thread, agent, phase and time', async () => {
    expect(await listed({ org_id: org, thread_id: 'it is 2 %' })).toEqual([ids[3]]);
    expect(await listed({ org_id: org, agent_id: 'test.other' })).toEqual([]);
    expect(await listed({ org_id: org, phase: 'failed' })).toEqual([]);
    expect(await listed({ org_id: org, created_after: new Date(Date.now() + 60_000) })).toEqual([]);
    expect(await listed({ org_id: org, created_before: new Date(0) })).toEqual([]);
    expect(await listed({ org_id: org, created_before: new Date(Date.now() + 60_000) })).toHaveLength(5);
  });

  it('finds those that wait for somebody, by what the run or one below it waits for', async () => {
    const waitingOrg = `org-${randomUUID()}`;
    const attribute = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
    // As runs write it: on a queue that nobody polls, these stay as they are.
    const begin = async (name: string, kind?: string) => {
      const typedSearchAttributes = [
        { key: attribute('PerdureOrgId'), value: waitingOrg },
        ...(kind === undefined ? [] : [{ key: attribute('PerdureWaiting'), value: kind }]),
      ];
      const workflowId = `${name}-${randomUUID()}`;
      const options = { workflowId, taskQueue: 'nobody', args: [], typedSearchAttributes };
      return world.temporal.workflow.start('agentRun', options);
    };
    const approval = await begin('approval', 'approval');
    const question = await begin('question', 'clarification');
    const gone = await begin('gone', 'external_tools');
    const busy = await begin('busy');
    await gone.terminate();
    const waits = async (waiting?: boolean) => {
      const { runs } = await world.client.runs.list({
        org_id: waitingOrg,
        ...(waiting === undefined ? {} : { waiting }),
      });
      return Object.fromEntries(runs.map((run) => [run.run_id, run.waiting ?? null]));
    };
    const ended = async () => (await world.client.runs.list({ org_id: waitingOrg })).runs.filter((run) => run.ended_at);
    await until(
      async () => Object.keys(await waits()).length === 4 && (await ended()).length === 1,
      'all to be listed',
    );
    const open = { [approval.workflowId]: 'approval', [question.workflowId]: 'clarification' };
    expect(await waits(true)).toEqual(open);
    const others = { [gone.workflowId]: null, [busy.workflowId]: null };
    expect(await waits(false)).toEqual(others);
    expect(await waits()).toEqual({ ...open, ...others });
    await Promise.all([approval, question, busy].map((handle) => handle.terminate()));
  });

  it('gives every run once over pages of two', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await world.client.runs.list({ org_id: org, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.runs.length).toBeLessThanOrEqual(2);
      seen.push(...page.runs.map(({ run_id }) => run_id));
      cursor = page.next_cursor;
      pages += 1;
    } while (cursor !== undefined && pages < 10);
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  it('refuses a cursor of another listing, and one that it never gave', async () => {
    const { next_cursor = '' } = await world.client.runs.list({ org_id: org, limit: 2 });
    const print = next_cursor.split('.')[0];
    for (const [filter, cursor] of [
      [{ org_id: 'another' }, next_cursor],
      [{ org_id: org }, 'nonsense'],
      [{ org_id: org, limit: 2 }, `${print}.${Buffer.from('{"broken').toString('base64url')}`],
      [{ org_id: org, limit: 2 }, next_cursor.slice(0, -1)],
    ] as const) {
      await expect(world.client.runs.list({ ...filter, cursor })).rejects.toMatchObject({
        code: 'invalid_request',
        issues: [{ path: 'cursor', message: expect.stringContaining('no cursor of this listing') }],
      });
    }
  });

  it.each([`x' OR WorkflowType != 'y`, 'back\\slash', 'a"b', 'new\nline', '`'])(
    'refuses %j, which could be read as part of the query',
    async (thread_id) => {
      await expect(world.client.runs.list({ org_id: org, thread_id })).rejects.toMatchObject({
        code: 'invalid_request',
        issues: [{ path: 'thread_id', message: expect.stringContaining('quote') }],
      });
    },
  );
});

describe('workerPolls', () => {
  it('tells a queue with a worker from one without, and forgets a worker that was last seen long ago', async () => {
    await until(() => workerPolls(world.temporal, world.server.taskQueue), 'the worker to poll');
    expect(await workerPolls(world.temporal, `nobody-${randomUUID()}`)).toBe(false);
    expect(await workerPolls(world.temporal, world.server.taskQueue, Date.now() + 200_000)).toBe(false);
  });
});
