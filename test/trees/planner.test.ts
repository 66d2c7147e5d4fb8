import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import type { Planner } from '../../kit/index.js';
import { scripted } from '../../providers/index.js';
import { call, script } from '../support/test-agents.js';
import { treeConfig } from '../support/tree-agents.js';
import { results } from '../support/tree-logs.js';
import { collect, createWorld, durable, ofType, phases, until } from '../support/world.js';
import type { World } from '../support/world.js';

/** Plans by the run's input. */
const planner: Planner = async ({ messages, step_number, model, tools, signal, run }) => {
  const [first] = messages;
  const what = first?.role === 'user' ? first.content : '';
  const said = messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []));
  const echo = (text: string) => ({ tool: 'test.tools.echo', args: { text } });
  switch (what) {
    case 'tools':
      return step_number === 1
        ? { tool_calls: [echo('a'), echo('b')], text: 'Let me see.' }
        : { answer: said.toSorted().join('+') };
    case 'ask':
      return step_number === 1 ? { ask: 'Which?', choices: ['x', 'y'] } : { answer: `you said ${said[0] ?? ''}` };
    case 'model': {
      const one = await model.invoke();
      const two = await model.invoke({
        instructions: 'Be brief.',
        messages: [{ role: 'user', content: 'again' }],
        tool_choice: 'none',
      });
      const texts = [one, two].flatMap((completion) => completion.messages.map((message) => String(message.content)));
      return { answer: `${texts.join(' and ')} of ${run.agent_id} with ${tools.length} tools` };
    }
    case 'insatiable':
      for (;;)
        await model.invoke({ messages: [{ role: 'user', content: 'again' }], tool_choice: 'none', stream: false });
    case 'hang':
      await sleep(60_000, undefined, { signal });
      return { answer: 'never' };
    case 'nothing':
      return { tool_calls: [] };
    case 'garbage':
      return undefined as never;
    case 'forbidden':
      return step_number === 1
        ? { tool_calls: [{ tool: 'test.tools.act', args: { do: 'ok' } }] }
        : { answer: said.join() };
    default:
      throw new Error('the planner broke');
  }
};

/** Shows the calls that its model asks for, twice. */
const drafter: Planner = async ({ model }) => {
  const drafts = [await model.invoke(), await model.invoke()];
  const calls = drafts.flatMap(({ messages }) =>
    messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : [])),
  );
  return { answer: calls.map(({ id }) => id).join(' ') };
};

let world: World;
beforeAll(async () => {
  const config = treeConfig(
    {},
    {
      agents: (tools) => [
        {
          agent_id: 'test.planned',
          instructions: 'Plan.',
          tools,
          planner,
          model: 'fixed',
          policy: { deny: ['test.tools.act'] },
        },
        { agent_id: 'test.summed', instructions: 'Plan.', tools, planner, model: 'fixed', synthesis: true },
        { agent_id: 'test.drafter', instructions: 'Follow the script.', tools, planner: drafter },
        { agent_id: 'test.synthesizer', instructions: 'Follow the script.', tools, synthesis: true },
      ],
    },
  );
  const fixed = scripted(() => ({ turns: [{ text: 'from the model' }], synthesis: { text: 'all in all' } }));
  world = await createWorld({
    ...config,
    models: { ...config.models, fixed: { provider: fixed, model: 'scripted-2' } },
  });
});
afterAll(() => world.end());

describe('a planner of its own', () => {
  it('calls tools, and answers', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'tools' });
    const seen = await collect(world.client.runs.stream(run_id));
    const log = durable(seen);
    expect(results(log)).toEqual(['a', 'b']);
    expect(phases(log)).toEqual(['prompted', 'planning', 'executing_tools', 'planning', 'completed']);
    expect(ofType(log, 'text_end').map((event) => event.text)).toEqual(['Let me see.', 'a+b']);
    expect(log.at(-1)).toMatchObject({
      status: 'success',
      answer: 'a+b',
      usage: { model_calls: 0, total_tokens: 0, steps: 2, tool_calls: 2 },
    });
    const shown = seen.flatMap((event) => (event.type === 'text_chunk' ? [event.text] : []));
    expect(shown).toEqual(['Let me see.', 'a+b']);
  });

  it('asks', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'ask' });
    await until(async () => (await world.client.runs.get(run_id)).awaits.length === 1, 'the question');
    expect((await world.client.runs.get(run_id)).awaits).toMatchObject([{ question: 'Which?', choices: ['x', 'y'] }]);
    await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'x' });
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ answer: 'you said x' });
  });

  it('calls the model, whose stream only the runtime reads, and pays for it', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'model' });
    const seen: StreamEvent[] = await collect(world.client.runs.stream(run_id));
    const end = seen.at(-1);
    expect(end).toMatchObject({
      status: 'success',
      answer: expect.stringMatching(/^from the model and all in all of test\.planned/) as string,
    });
    expect(end?.type === 'run_completed' && end.usage.model_calls).toBe(2);
    expect(end?.type === 'run_completed' && end.usage.total_tokens).toBeGreaterThan(0);
    expect(ofType(seen, 'usage_recorded')).toHaveLength(1);
    const texts = ofType(seen, 'text_end').map(({ text }) => text);
    expect(texts.slice(0, 2)).toEqual(['from the model', 'all in all']);
    expect(texts[2]).toMatch(/^from the model and all in all of/);
  });

  it('tells the calls of its model apart by their ids', async () => {
    const input = script([{ tool_calls: [call('tools.echo', { text: 'a' }), call('tools.echo', { text: 'a' })] }]);
    const log = await world.run('test.drafter', input);
    expect(log.at(-1)).toMatchObject({ answer: 'draft_1_1 draft_1_2 draft_2_1 draft_2_2' });
  });

  it('that calls the model without end is stopped by the limits, and the run still answers', async () => {
    const max_tokens = 60_000;
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.planned',
      input: 'insatiable',
      limits: { tree: { max_tokens } },
    });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ scope: 'tree', limit: 'max_tokens', maximum: max_tokens }]);
    const end = ofType(log, 'run_completed')[0]!;
    expect(end).toMatchObject({ status: 'success', answer: 'all in all' });
    const { total_tokens, charged_tokens = 0 } = end.tree_usage;
    expect(charged_tokens).toBeGreaterThan(max_tokens / 4);
    expect(total_tokens + charged_tokens).toBeLessThanOrEqual(max_tokens);
  });

  it('is bound by the policy', async () => {
    const log = await world.run('test.planned', 'forbidden');
    expect(results(log)).toEqual(['denied']);
  });

  it.each([
    ['nothing', 'model_no_answer'],
    ['garbage', 'model_no_answer'],
    ['throw', 'internal'],
  ])('that gives %s fails the run with %s', async (input, code) => {
    const log = await world.run('test.planned', input);
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code } });
  });

  it('is stopped by a cancel', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'hang' });
    await until(async () => (await world.client.runs.get(run_id)).steps.length === 1, 'the step');
    await world.client.runs.cancel(run_id);
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ status: 'canceled' });
  });

  it('may leave the last words to a synthesis pass', async () => {
    const log = await world.run('test.summed', 'tools');
    expect(phases(log).slice(-2)).toEqual(['synthesizing', 'completed']);
    expect(log.at(-1)).toMatchObject({ answer: 'all in all' });
  });
});

describe('what a run tells, in order', () => {
  it('a declared synthesis: start, chunks and the final text', async () => {
    const input = script([{ tool_calls: [call('tools.echo', { text: 'x' })] }, { text: 'draft' }], {
      text: ['all ', 'in ', 'all'],
    });
    const { run_id } = await world.client.runs.start({ agent_id: 'test.synthesizer', input });
    const seen = await collect(world.client.runs.stream(run_id));
    const summary = seen.filter((event) => event.type.startsWith('summary_'));
    const chunks = summary.filter((event) => event.type === 'summary_chunk');
    // A reader that is slow for a moment gets pieces merged.
    expect(summary.map((event) => event.type)).toEqual([
      'summary_start',
      ...chunks.map(() => 'summary_chunk'),
      'summary_final',
    ]);
    expect(chunks.map(({ text }) => text).join('')).toBe('all in all');
    expect(summary.at(-1)).toMatchObject({ text: 'all in all', step_id: 'step_3' });
    expect(phases(durable(seen)).slice(-3)).toEqual(['planning', 'synthesizing', 'completed']);
    expect(seen.at(-1)).toMatchObject({ type: 'run_completed', answer: 'all in all' });
  });

  it('a tool: requested, decided, scheduled, tried again, its result', async () => {
    const input = script([{ tool_calls: [call('tools.act', { do: 'throw', until_attempt: 3 })] }, { text: 'ok' }]);
    const log = await world.run('test.node', input);
    const order = log.filter((event) => event.tool_call_id === 'call_1_1').map((event) => event.type);
    expect(order).toEqual([
      'tool_requested',
      'policy_decided',
      'tool_scheduled',
      'tool_retry',
      'tool_retry',
      'tool_result',
    ]);
    expect(results(log)).toEqual(['worked at attempt 3']);
  });
});
