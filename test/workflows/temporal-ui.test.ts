import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';

describe('a run explains itself in the Temporal UI', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(testConfig());
  });
  afterAll(() => world.end());

  it('with search attributes that follow its phase', async () => {
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.agent',
      input: script([{ text: 'ok' }]),
      thread_id: 'thread_1',
      org_id: 'org_1',
      created_by: 'user_1',
    });
    await world.logOf(run_id);
    const handle = world.temporal.workflow.getHandle(run_id);
    await handle.result();
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes).toMatchObject({
      PerdureAgentId: ['test.agent'],
      PerdurePhase: ['completed'],
      PerdureRootRunId: [run_id],
      PerdureThreadId: ['thread_1'],
      PerdureOrgId: ['org_1'],
      PerdureCreatedBy: ['user_1'],
    });
    await until(async () => {
      const query = `PerdureAgentId = 'test.agent' AND PerdurePhase = 'completed' AND WorkflowId = '${run_id}'`;
      return (await world.temporal.workflow.count(query)).count === 1;
    }, 'the run in the list');
  });

  it('with a summary on the run and on every activity, and current details', async () => {
    const input = script([{ tool_calls: [call('tools.echo', { text: 'hello' })] }, { text: 'ok' }]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
    await world.logOf(run_id);
    const handle = world.temporal.workflow.getHandle(run_id);
    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).flatMap((event) => {
      const name = event.activityTaskScheduledEventAttributes?.activityType?.name;
      const data = event.userMetadata?.summary?.data;
      return name ? [[name, data ? (JSON.parse(Buffer.from(data).toString()) as string) : '']] : [];
    });
    expect(summaries).toEqual([
      ['resolveRun', 'resolve test.agent'],
      ['callModel', 'scripted scripted-1, step 1, planning'],
      ['callTool', 'test.tools.echo {"text":"hello"}'],
      ['callModel', 'scripted scripted-1, step 2, planning'],
    ]);
    const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toContain('### test.agent: completed');
    expect(metadata.currentDetails).toContain('tool calls 1');
    expect(await (await handle.describe()).staticSummary()).toMatch(/^test\.agent: /);
  });
});
