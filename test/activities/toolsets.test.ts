/** Toolsets of any kind, in runs: found, pinned, called, and what becomes of a run whose toolset fails. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ResolvedRun } from '../../contract/activities.js';
import { defineAgent, defineTool, defineToolset, ToolError } from '../../kit/index.js';
import type { FoundTool, PinnedTool, Toolset } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { script } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const found = (name: string, given: Partial<FoundTool> = {}): FoundTool => ({
  tool_id: `far.shelf.${name.toLowerCase()}`,
  source_name: name,
  description: `Does ${name}.`,
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  idempotent: false,
  timeout_ms: 5_000,
  ...given,
});

let shelf: FoundTool[] = [];
let discovered = 0;
/** How often it is not there yet. */
let missed = 0;
const calls: PinnedTool[] = [];
const opened = { open: 0, closed: 0 };

const toolset = (toolset_id: string, discover: () => Promise<FoundTool[]>, optional?: boolean): Toolset =>
  defineToolset({
    toolset_id,
    ...(optional === undefined ? {} : { optional }),
    open() {
      opened.open += 1;
      return {
        discover,
        bind: (tool) => ({
          input: z.object({ n: z.number().optional() }),
          run({ n }: { n?: number }, { attempt }) {
            calls.push(tool);
            if (n === 13 && attempt === 1) throw new ToolError('internal', 'unlucky', { retryable: true });
            return `${tool.source_name} ${n}`;
          },
        }),
        async close() {
          opened.closed += 1;
        },
      };
    },
  });

const far = toolset('far.shelf', async () => {
  discovered += 1;
  if (missed-- > 0) throw new Error('nobody is there');
  return shelf;
});
/** How often it has no room. */
let busy = 0;
const crowded = toolset(
  'far.busy',
  async () => {
    if (busy > 0) {
      busy -= 1;
      throw new ToolError('rate_limited', 'all sessions are in use');
    }
    return [found('A', { tool_id: 'far.busy.a' })];
  },
  true,
);
const broken = toolset('far.broken', () => Promise.reject(new Error('nobody is there')), true);
const agent = (name: string, tools: (Toolset | ReturnType<typeof defineTool>)[], more = {}) =>
  defineAgent({ agent_id: `test.${name}`, instructions: 'Follow the script.', tools, ...more });
const local = defineTool({
  tool_id: 'near.shelf.take',
  description: 'Takes.',
  input: z.object({}),
  run: () => 'taken',
});

describe('a toolset', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({
      models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
      agents: [
        agent('finder', [local, far]),
        agent('careful', [far], { policy: { deny: ['far.shelf.b'], approve: ['far.shelf.a'] } }),
        agent('capped', [far], { limits: { run: { max_tool_calls: 1 } } }),
        agent('lenient', [far, broken]),
        agent('patient', [crowded]),
      ],
    });
  });
  afterAll(() => world.end());

  const run = async (name: string, turns: Parameters<typeof script>[0], while_ = async (_runId: string) => {}) => {
    const { run_id } = await world.client.runs.start({ agent_id: `test.${name}`, input: script(turns) });
    await while_(run_id);
    return { run_id, log: await world.logOf(run_id) };
  };
  const specOf = async (runId: string) => {
    const { events = [] } = await world.temporal.workflow.getHandle(runId).fetchHistory();
    const resolved = events?.find((event) => event.activityTaskCompletedEventAttributes);
    const data = resolved?.activityTaskCompletedEventAttributes?.result?.payloads?.[0]?.data;
    return (JSON.parse(Buffer.from(data as Uint8Array).toString()) as ResolvedRun).spec;
  };
  const results = (log: Awaited<ReturnType<World['logOf']>>) =>
    ofType(log, 'tool_result').map((event) => (event.status === 'error' ? event.failure.kind : event.content));

  it('has its tools found once for a run, and offered beside the others', async () => {
    shelf = [found('A'), found('B', { approval: 'always' })];
    discovered = 0;
    const ids = ['near.shelf.take', 'far.shelf.a', 'far.shelf.b', 'runtime.outputs.read_output'];
    const { run_id, log } = await run('finder', [
      { expect: { tools: ids }, tool_calls: [{ tool: 'far.shelf.a', args: { n: 1 } }, { tool: 'near.shelf.take' }] },
      { text: 'done', expect: { tools: ids } },
    ]);
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    expect(results(log).toSorted()).toEqual(['A 1', 'taken']);
    expect(discovered).toBe(1);
    expect((await specOf(run_id)).tools.find((tool) => tool.tool_id === 'far.shelf.b')).toEqual({
      ...found('B', { approval: 'always' }),
      strict: false,
      max_attempts: 1,
    });
  });

  it('is called with what was pinned, though it has something else by now', async () => {
    shelf = [found('A', { source_name: 'Old', approval: 'always' })];
    calls.length = 0;
    const { log } = await run(
      'finder',
      [{ tool_calls: [{ tool: 'far.shelf.a', args: { n: 2 } }] }, { text: 'done' }],
      async (runId) => {
        await approve(runId, () => {
          shelf = [];
        });
      },
    );
    expect(results(log)).toEqual(['Old 2']);
    const { source_name, parameters, idempotent, timeout_ms } = found('A', { source_name: 'Old' });
    expect(calls).toEqual([{ tool_id: 'far.shelf.a', source_name, parameters, idempotent, timeout_ms }]);
  });

  it('is under the agent’s policy, and what nobody can call is asked of nobody', async () => {
    shelf = [found('A'), found('B')];
    const { log } = await run(
      'careful',
      [
        { tool_calls: [{ tool: 'far.shelf.a', args: { n: 'x' } }] },
        { tool_calls: [{ tool: 'far.shelf.b' }, { tool: 'far.shelf.a', args: { n: 3 } }] },
        { text: 'done' },
      ],
      (runId) => approve(runId),
    );
    expect(results(log).toSorted()).toEqual(['A 3', 'denied', 'invalid_call']);
    expect(ofType(log, 'await_approval')).toHaveLength(1);
  });

  it('is under the run’s limits', async () => {
    shelf = [found('A'), found('B')];
    const both = [{ tool: 'far.shelf.a' }, { tool: 'far.shelf.b' }];
    const { log } = await run('capped', [{ tool_calls: both, synthesis: 'enough' }, { synthesis: 'enough' }]);
    expect(results(log)).toEqual(['capped', 'capped']);
  });

  it('has a call repeated only where the tool is safe to repeat', async () => {
    shelf = [found('A', { idempotent: true }), found('B')];
    const unlucky = { n: 13 };
    const { log } = await run('finder', [
      { tool_calls: [{ tool: 'far.shelf.a', args: unlucky }] },
      { tool_calls: [{ tool: 'far.shelf.b', args: unlucky }] },
      { text: 'done' },
    ]);
    expect(results(log)).toEqual(['A 13', 'internal']);
    expect(ofType(log, 'tool_retry')).toHaveLength(1);
  });

  it('that cannot be reached is asked again, and the run goes on with it', async () => {
    shelf = [found('A')];
    discovered = 0;
    missed = 2;
    const { log } = await run('finder', [{ tool_calls: [{ tool: 'far.shelf.a' }] }, { text: 'done' }]);
    expect(results(log)).toEqual(['A undefined']);
    expect(discovered).toBe(3);
  });

  it('that cannot be reached at all fails the run, with what to do', async () => {
    missed = 5;
    const { log } = await run('finder', [{ text: 'done' }]);
    missed = 0;
    expect(log.at(-1)).toMatchObject({
      status: 'failed',
      failure: {
        code: 'toolset_unavailable',
        message: 'A service that this agent needs could not be reached. Please try again.',
        debug_message: expect.stringMatching(
          /toolset far\.shelf: looking for its tools failed unexpectedly\. Check that[^]*\ncaused by: Error: nobody is there/,
        ) as string,
      },
    });
  });

  it.each(['other.shelf.a', 'far.shelf.client_a'])(
    'that gives out ids of others (%s) fails the run',
    async (tool_id) => {
      shelf = [found('A', { tool_id })];
      const { log } = await run('finder', [{ text: 'done' }]);
      expect(log.at(-1)).toMatchObject({
        status: 'failed',
        failure: {
          code: 'toolset_invalid',
          debug_message: expect.stringContaining(`toolset far.shelf: it gave "A" the id "${tool_id}"`) as string,
        },
      });
    },
  );

  it('with two tools that would have one id fails the run, and names both', async () => {
    shelf = [found('createIssue', { tool_id: 'far.shelf.x' }), found('create-issue', { tool_id: 'far.shelf.x' })];
    const { log } = await run('finder', [{ text: 'done' }]);
    expect(log.at(-1)).toMatchObject({
      failure: {
        code: 'toolset_invalid',
        debug_message: expect.stringMatching(
          /its tools "createIssue" and "create-issue" would both be far\.shelf\.x\. .*`tools`/,
        ) as string,
      },
    });
  });

  it('that is optional is done without, and the run’s spec says so', async () => {
    shelf = [found('A')];
    const { run_id, log } = await run('lenient', [
      { tool_calls: [{ tool: 'far.broken.x' }, { tool: 'far.shelf.a' }] },
      { text: 'done' },
    ]);
    expect(results(log).toSorted()).toEqual(['A undefined', 'unavailable']);
    expect((await specOf(run_id)).missing_toolsets).toEqual([
      { toolset_id: 'far.broken', reason: expect.stringContaining('failed unexpectedly') as string },
    ]);
  });

  it('that is optional and has no room now is asked again: the run is not made without its tools', async () => {
    busy = 1;
    const { run_id, log } = await run('patient', [{ tool_calls: [{ tool: 'far.busy.a' }] }, { text: 'done' }]);
    expect(results(log)).toEqual(['A undefined']);
    expect((await specOf(run_id)).missing_toolsets).toBeUndefined();
    expect(busy).toBe(0);
  });

  it('is opened once per worker, and closed with it', async () => {
    opened.open = 0;
    opened.closed = 0;
    const other = await createWorld({
      models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
      agents: [agent('one', [far]), agent('two', [far])],
    });
    await other.run('test.one', script([{ text: 'done' }]));
    expect(opened).toEqual({ open: 1, closed: 0 });
    await other.end();
    expect(opened).toEqual({ open: 1, closed: 1 });
  });

  async function approve(runId: string, before = () => {}): Promise<void> {
    for await (const event of world.client.runs.stream(runId)) {
      if (event.type !== 'await_approval') continue;
      before();
      const { await_id, digest } = event;
      await world.client.runs.decideApproval(runId, { await_id, decision: 'approve', digest });
      return;
    }
  }
});
