/** The iterators of the SDKs that the dialects come from: one call starts a run, or takes one that is there, and tells it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpClient } from '../../client/http/index.js';
import type { AgentEvent, ContractEvent, TaskStepChunk } from '../../client/index.js';
import type { HttpRuns } from '../../client/http/index.js';
import type { Runs } from '../../client/index.js';
import { AgentEvent as AgentEventSchema } from '../../contract/agent-events.js';
import { TaskStepChunk as TaskStepChunkSchema } from '../../contract/task-steps.js';
import type { DialectName } from '../../dialects/index.js';
import { linesOf, tellAll } from '../dialects/tell-all.js';
import { serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld } from '../gateway/gateway-world.js';
import { call, script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
let gateway: GatewayWorld;
let clients: { local: Runs; http: HttpRuns };
let close: () => Promise<void>;
beforeAll(async () => {
  world = await createWorld(treeConfig());
  gateway = await serveFor(world, { kind: 'off' });
  const http = createHttpClient({ url: gateway.url });
  close = () => http.close();
  clients = { local: world.client.runs, http: http.runs };
});
afterAll(async () => {
  await close();
  await gateway.stop();
  await world.end();
});

async function all<E>(events: AsyncIterable<E>): Promise<E[]> {
  const seen: E[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const request = (turns: Parameters<typeof script>[0]) => ({ agent_id: 'test.node', input: script(turns) });
const echo = { thinking: 'Hm.', text: 'Let me see.', tool_calls: [call('tools.echo', { text: 'x' })] };
const below = child([{ tool_calls: [call('tools.echo', { text: 'y' })] }, { text: 'from below' }]);
const FLATTENED = { children: 'flattened' } as const;

describe.each(['local', 'http'] as const)('over the %s client', (which) => {
  const runs = () => clients[which];

  it('runStream gives agent events, live, from the start of the run to the answer', async () => {
    const stream = runs().runStream(request([echo, { text: ['All ', 'done.'], delay_ms: 300 }]));
    const events: AgentEvent[] = await all(stream);
    for (const event of events) expect(AgentEventSchema.parse(event)).toEqual(event);
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(['step_start', 'reasoning', 'text', 'tool_call', 'tool_result', 'step_complete', 'final']),
    );
    const texts = events.flatMap((event) => (event.type === 'text' ? [event.content] : []));
    expect(texts.join('')).toBe('Let me see.All done.');
    expect(texts.length).toBeGreaterThan(2);
    expect(events.at(-1)).toMatchObject({ type: 'final', content: 'All done.' });
    const { run_id } = await stream.run;
    expect((await world.client.runs.get(run_id)).status).toBe('success');
  });

  it('contractStream gives objects of the event contract', async () => {
    const events: ContractEvent[] = await all(runs().contractStream(request([echo, { text: 'Done.' }])));
    const run_id = events[0]?.run_id;
    expect(events.every((event) => event.run_id === run_id)).toBe(true);
    const content = events.map((event) => (event.type === 'content' ? event.content : '')).join('');
    expect(content).toBe('Let me see.Done.');
    expect(events.at(-1)).toEqual({ type: 'status', run_id, status: 'complete' });
  });

  it('stepStream gives the chunks of the step stream', async () => {
    const chunks: TaskStepChunk[] = await all(runs().stepStream(request([echo, { text: 'Done.' }])));
    for (const chunk of chunks) expect(TaskStepChunkSchema.parse(chunk)).toEqual(chunk);
    const types = chunks.map(({ type }) => type).filter((type) => type !== 'text_part_delta');
    expect(types).toEqual(['tool_call_part', 'tool_result_part', 'step_final', 'step_final']);
  });

  it.each(['runStream', 'contractStream', 'stepStream'] as const)(
    '%s tells a run that is over as its dialect does',
    async (method) => {
      const { run_id } = await runs().start(request([echo, { text: 'Done.' }]));
      const log = await world.logOf(run_id);
      const names = { runStream: 'agent_events', contractStream: 'event_contract', stepStream: 'task_steps' } as const;
      const dialect: DialectName = names[method];
      const stream = runs()[method](run_id);
      expect(await all<unknown>(stream)).toEqual(linesOf(tellAll(dialect, log)).map(({ data }) => data));
      expect(await stream.run).toMatchObject({ run_id });
    },
  );

  it('throws where a run failed or was canceled and the dialect has no words for it', async () => {
    const failing = request([{ fail: { code: 'model_unauthorized' } }]);
    await expect(all(runs().runStream(failing))).rejects.toMatchObject({ code: 'model_unauthorized' });
    await expect(all(runs().stepStream(failing))).rejects.toMatchObject({ code: 'model_unauthorized' });
    expect((await all(runs().contractStream(failing))).at(-1)).toMatchObject({ type: 'error' });
    const hanging = runs().runStream(request([{ text: 'Well', hang: true }]));
    const over = all(hanging);
    await runs().cancel((await hanging.run).run_id, { note: 'enough' });
    await expect(over).rejects.toMatchObject({
      code: 'run_ended',
      message: expect.stringContaining('canceled') as string,
    });
  });

  it('throws where the run cannot be started, also to who never iterates and asks which run it is', async () => {
    const wrong = runs().runStream({ agent_id: 'nonsense', input: 'x' });
    await expect(wrong.run).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(all(wrong)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('says beside the events that the run waits, and goes on when it was answered', async () => {
    const warnings: string[] = [];
    const onWarning = (message: string, runId: string) => void warnings.push(`${runId} ${message}`);
    const stream = runs().runStream(request([{ tool_calls: [ask('Which?')] }, { text: 'Done.' }]), { onWarning });
    const over = all(stream);
    const { run_id } = await stream.run;
    await until(() => warnings.length === 1, 'the pause');
    expect(warnings[0]).toContain('clarification_call_1_1');
    await runs().answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'this' });
    expect((await over).at(-1)).toMatchObject({ type: 'final', content: 'Done.' });
  });

  it('tells a tree, each run by itself, and ends with the root', async () => {
    const turns = [{ tool_calls: [below] }, { text: 'from above' }];
    const events = await all(runs().contractStream(request(turns), { children: 'flattened' }));
    const said = (isBelow: boolean) =>
      events
        .filter(({ type, run_id }) => type === 'content' && run_id.includes('/') === isBelow)
        .map(({ content }) => content)
        .join('');
    expect([said(true), said(false)]).toEqual(['from below', 'from above']);
    expect(events.filter(({ type }) => type === 'status')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('status');
  });

  it('tells a tree in agent events: one final, and no id twice', async () => {
    const stream = runs().runStream(request([{ tool_calls: [below] }, { text: 'from above' }]), FLATTENED);
    const events: AgentEvent[] = await all(stream);
    const { run_id } = await stream.run;
    expect(events.filter(({ type }) => type === 'final')).toEqual([{ type: 'final', content: 'from above' }]);
    expect(events.at(-1)?.type).toBe('final');
    const ids = (wanted: AgentEvent['type']) =>
      events.flatMap((event) =>
        event.type !== wanted
          ? []
          : 'step_id' in event
            ? event.step_id
            : 'tool_call_id' in event
              ? event.tool_call_id
              : [],
      );
    const child_id = `${run_id}/call_1_1`;
    expect(ids('step_start')).toEqual(['step_1', `${child_id}:step_1`, `${child_id}:step_2`, 'step_2']);
    expect(ids('tool_call')).toEqual(['call_1_1', `${child_id}:call_1_1`]);
    expect(ids('step_complete').toSorted()).toEqual(ids('step_start').toSorted());
    expect(ids('tool_result').toSorted()).toEqual(ids('tool_call').toSorted());
  });

  it('tells a tree in step chunks: no call has the id of another', async () => {
    const stream = runs().stepStream(request([{ tool_calls: [below] }, { text: 'from above' }]), FLATTENED);
    const chunks: TaskStepChunk[] = await all(stream);
    const child_id = `${(await stream.run).run_id}/call_1_1`;
    const calls = chunks.flatMap((chunk) => (chunk.type === 'tool_call_part' ? [chunk.data.tool_call.id] : []));
    expect(calls).toEqual(['call_1_1', `${child_id}:call_1_1`]);
    const results = chunks.flatMap((chunk) =>
      chunk.type === 'tool_result_part' ? [chunk.data.tool_result.tool_call_id] : [],
    );
    expect(results).toEqual(calls.toReversed());
  });
});
