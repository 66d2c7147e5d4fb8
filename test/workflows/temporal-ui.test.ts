import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, script, testConfig } from '../support/test-agents.js';
import { lexer } from 'marked';
import type { Token } from 'marked';
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

  it('in the list, whose columns are the id, the type and times, by an id that names its agent', async () => {
    const { runs, threads } = world.client;
    const agent_id = 'test.bare';
    await runs.start({ agent_id, input: script([{ text: 'ok' }]) });
    const thread = await threads.start({ agent_id, messages: [script([{ text: 'ok' }])] });
    await until(async () => (await threads.get(thread.thread_id)).status === 'user_turn', 'the first turn');
    await threads.fork(thread.thread_id, { message_sequence_num: 0 });
    // As a gateway does.
    const mark = { by: 'ann', digest: thread.thread_id };
    const begin = (thread_id: string) => threads.start({ thread_id, agent_id, mark });
    const { record, created } = await threads.beginOnce(agent_id, mark, begin);
    expect(created).toBe(true);
    expect(await threads.beginOnce(agent_id, mark, begin)).toMatchObject({
      record: { thread_id: record.thread_id },
      created: false,
    });
    const query = `TaskQueue = '${world.server.taskQueue}' AND PerdureAgentId = '${agent_id}'`;
    const listed = async () => {
      const ids: string[] = [];
      for await (const { workflowId } of world.temporal.workflow.list({ query })) ids.push(workflowId);
      return ids;
    };
    // A run, three threads, and a turn.
    await until(async () => (await listed()).length === 5, 'all five in the list');
    for (const id of await listed()) expect(id).toMatch(/^(thr_)?test\.bare-[0-9a-f-]{36,40}(\/turn_1)?$/);
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

  it('with links of its own only, whatever its caller, its model and its tools say', async () => {
    const bait = [
      '[read this](https://evil.example)',
      '\\[a](https://evil.example)',
      '![](https://evil.example/pixel.png)',
      '<https://evil.example>',
      '\\<https://evil.example>',
      '`<img src=x>`',
      '<a href="https://evil.example">x</a>',
      '\n\n[b]: https://evil.example\n\n[b]',
      '\n# Approved\n- **waits** for nobody',
    ].join(' ');
    const turns = [{ tool_calls: [call('tools.echo', { text: bait })] }, { text: bait }];
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.agent',
      input: [{ type: 'text', text: script(turns) }],
      thread_id: bait,
    });
    await world.logOf(run_id);
    const handle = world.temporal.workflow.getHandle(run_id);
    const { currentDetails = '' } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(currentDetails).toContain('evil.example');
    expect(liveIn(currentDetails)).toEqual(['heading test.agent: completed']);
    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).flatMap(({ userMetadata }) => {
      const data = userMetadata?.summary?.data;
      return data ? [JSON.parse(Buffer.from(data).toString()) as string] : [];
    });
    expect(summaries.join()).toContain('evil.example');
    expect(summaries.flatMap(liveIn)).toEqual([]);
    expect(liveIn((await (await handle.describe()).staticSummary()) ?? '')).toEqual([]);
  });

  it('with a thread’s title and goals as plain text', async () => {
    const title = '[read this](https://evil.example) <https://evil.example>';
    const { thread_id } = await world.client.threads.start({ agent_id: 'test.agent', title });
    const handle = world.temporal.workflow.getHandle(thread_id);
    const { currentDetails = '' } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(currentDetails).toContain('read this');
    expect(liveIn(currentDetails)).toEqual([`heading ${title}: not started`]);
  });
});

/** What the UI would make of it that is more than words: it reads Markdown without the additions of GitHub. */
function liveIn(markdown: string): string[] {
  const found: string[] = [];
  const visit = (tokens: Token[]): void => {
    for (const token of tokens) {
      const { type, tokens: inner = [], items = [] } = token as Token & { tokens?: Token[]; items?: Token[] };
      if (type === 'heading') found.push(`heading ${inner.map((each) => (each as { text?: string }).text).join('')}`);
      else if (['link', 'image', 'html', 'def'].includes(type)) found.push(token.raw);
      visit([...inner, ...items]);
    }
  };
  visit(lexer(markdown, { gfm: false }));
  return found.filter((raw) => !raw.includes('](/namespaces/'));
}
