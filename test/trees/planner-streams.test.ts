/** What a planner's model calls show to readers and leave in the log, and what a planner is told. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PerdureError } from '../../contract/errors.js';
import type { BaseMessage } from '../../contract/messages.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import type { RunOutput } from '../../contract/run.js';
import type { Planner, PlannerContext } from '../../kit/index.js';
import { checkInvariants } from '../support/invariants.js';
import { script } from '../support/test-agents.js';
import { treeConfig } from '../support/tree-agents.js';
import { collect, createWorld, durable, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

/** A model whose answers are written by the test: by the last thing that the user said, and by the attempt. */
const asked: ModelRequest[] = [];
const gates = new Map<string, { wait: Promise<void>; open: () => void }>();
function gate(name: string) {
  const known = gates.get(name);
  if (known !== undefined) return known;
  let open = () => {};
  const wait = new Promise<void>((resolve) => (open = resolve));
  const made = { wait, open };
  gates.set(name, made);
  return made;
}

const usage = (model: string) => ({ model, input_tokens: 5, output_tokens: 3, total_tokens: 8 });
const signature = { vendor: { signature: 'signed' } };
const ofCall = { vendor: { id: 'call-of-the-vendor' } };

const vendor: ModelProvider = {
  name: 'vendor',
  async *stream(request, signal): AsyncGenerator<ModelStreamPart> {
    asked.push(request);
    const finish: ModelStreamPart = { type: 'finish', stop_reason: 'end_turn', usage: usage(request.model) };
    const what = lastUser(request.messages);
    if (what.startsWith('slow')) {
      yield { type: 'text', delta: 'one ' };
      await Promise.race([
        gate(what).wait,
        new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
      ]);
      if (signal.aborted) return;
      yield { type: 'text', delta: 'two' };
    } else if (what === 'thoughtful' && request.messages.some((message) => message.role === 'tool')) {
      yield { type: 'text', delta: 'all done' };
    } else if (what === 'thoughtful' || what === 'by hand') {
      yield { type: 'reasoning', delta: 'I should ' };
      yield { type: 'reasoning', delta: 'echo.' };
      yield { type: 'reasoning_meta', provider_meta: signature };
      yield { type: 'text', delta: 'Let me see.', provider_meta: { vendor: { text: 'signed too' } } };
      yield { type: 'tool_call', index: 0, name: 'test.tools.echo', provider_meta: ofCall };
      yield { type: 'tool_call', index: 0, arguments_delta: '{"text":' };
      yield { type: 'tool_call', index: 0, arguments_delta: '"a"}' };
    } else if (what === 'unsure') {
      yield { type: 'text', delta: `attempt ${request.attempt}` };
      if (request.attempt === 1) throw new PerdureError('model_server_error', 'as scripted', { provider: 'vendor' });
    } else if (what === 'broken') {
      yield { type: 'text', delta: 'half of ' };
      throw new PerdureError('model_stream_cut', 'as scripted', { provider: 'vendor' });
    } else {
      yield { type: 'text', delta: `answer to ${what}` };
    }
    yield finish;
  },
};

function lastUser(messages: readonly BaseMessage[]): string {
  const last = messages.findLast((message) => message.role === 'user');
  return typeof last?.content === 'string' ? last.content : '';
}

const said = (messages: readonly BaseMessage[]) =>
  messages.map((message) => (message.role === 'assistant' ? (message.content ?? '') : '')).join('');
const user = (content: string): { messages: BaseMessage[] } => ({ messages: [{ role: 'user', content }] });

const told: PlannerContext[] = [];

const planner: Planner = async (context) => {
  const { messages, model, step_number } = context;
  told.push(context);
  switch (lastUser(messages)) {
    case 'draft': {
      const draft = said((await model.invoke(user('a draft'))).messages);
      return { answer: `better than ${draft}` };
    }
    case 'secret': {
      const grade = await model.invoke({ ...user('a grade'), stream: false });
      const both = await Promise.all([model.invoke(user('left')), model.invoke(user('right'))]);
      return { answer: `${said(grade.messages)}, ${both.map((one) => said(one.messages)).join(', ')}` };
    }
    case 'returned in secret':
      return { completion: await model.invoke({ stream: false }) };
    case 'by hand': {
      if (step_number > 1) return { answer: 'done by hand' };
      const { messages: answer } = await model.invoke();
      const calls = answer.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
      return {
        tool_calls: calls.map((call) => ({
          tool: call.function.name,
          args: JSON.parse(call.function.arguments) as object,
        })),
        text: said(answer),
      };
    }
    case 'choosy':
      return {
        completion: await model.invoke({ tools: ['test.tools.echo', 'test.agents.node'], tool_choice: 'required' }),
      };
    case 'mistaken':
      return { completion: await model.invoke({ tools: ['test.tools.echo', 'test.tools.none'] }) };
    case 'careful': {
      const broken = await model.invoke(user('broken')).catch((error: unknown) => error);
      return { answer: broken instanceof Error ? 'it broke' : 'it did not' };
    }
    case 'delegate':
      return step_number === 1
        ? {
            tool_calls: [
              { tool: 'test.agents.node', args: { script: script([{ text: 'from below' }]) } },
              { tool: 'test.tools.echo', args: { text: 'from here' } },
              { tool: 'test.agents.narrow', args: 'no object' },
            ],
          }
        : { answer: 'delegated' };
    default:
      return { completion: await model.invoke() };
  }
};

let world: World;
beforeAll(async () => {
  const config = treeConfig(
    { model_max_attempts: 2 },
    {
      agents: (tools) => [
        { agent_id: 'test.planned', instructions: 'Plan.', tools, planner, model: 'vendor' },
        { agent_id: 'test.modelled', instructions: 'Plan.', tools, model: 'vendor' },
      ],
    },
  );
  world = await createWorld({
    ...config,
    models: { ...config.models, vendor: { provider: vendor, model: 'vendor-1' } },
  });
});
afterAll(() => world.end());

async function watch(input: string, agent_id = 'test.planned') {
  const { run_id } = await world.client.runs.start({ agent_id, input });
  const seen = await collect(world.client.runs.stream(run_id));
  checkInvariants(seen);
  return { run_id, seen, log: durable(seen), texts: ofType(seen, 'text_end').map(({ text }) => text) };
}

describe('a planner’s model calls stream', () => {
  it('piece by piece, before the planner has decided anything, and are said once', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'slow 1' });
    const shown: string[] = [];
    const seen = [];
    for await (const event of world.client.runs.stream(run_id)) {
      seen.push(event);
      if (event.type !== 'text_chunk') continue;
      shown.push(event.text);
      gate('slow 1').open();
    }
    expect(shown).toEqual(['one ', 'two']);
    checkInvariants(seen);
    expect(ofType(seen, 'text_end')).toMatchObject([{ text: 'one two', block_id: 'step_1.block_1', attempt: 1 }]);
    expect(seen.at(-1)).toMatchObject({ status: 'success', answer: 'one two' });
  });

  it('with the same events as the default planner’s', async () => {
    const shape = ({ seen }: Awaited<ReturnType<typeof watch>>) =>
      seen
        .filter(({ type }) => /^(?:text|thinking|tool_input|tool_requested|summary)/.test(type))
        .map((event) => [
          event.type,
          'block_id' in event ? event.block_id : '',
          'text' in event ? event.text : '',
          'provider_meta' in event ? event.provider_meta : undefined,
          'tool_id' in event ? event.tool_id : undefined,
        ]);
    const planned = shape(await watch('thoughtful'));
    expect(planned).toEqual(shape(await watch('thoughtful', 'test.modelled')));
    expect(planned.map(([type]) => type)).toContain('thinking_chunk');
    const written = planned.filter(([type]) => type === 'tool_input_chunk');
    expect(new Set(written.map((each) => each.at(-1)))).toEqual(new Set(['test.tools.echo']));
  });

  it('and keep reasoning and what the vendor signed, for its next call', async () => {
    const { log } = await watch('thoughtful');
    expect(ofType(log, 'thinking_end')).toMatchObject([{ text: 'I should echo.', provider_meta: signature }]);
    expect(ofType(log, 'tool_requested')).toMatchObject([{ name: 'test.tools.echo', provider_meta: ofCall }]);
    const [, reasoning, spoken] = asked.at(-1)!.messages.slice(1);
    expect(reasoning).toMatchObject({ role: 'reasoning', content: 'I should echo.', provider_meta: signature });
    expect(spoken).toMatchObject({
      content: 'Let me see.',
      provider_meta: { vendor: { text: 'signed too' } },
      tool_calls: [{ id: 'call_1_1', provider_meta: ofCall }],
    });
    expect(log.at(-1)).toMatchObject({ answer: 'all done' });
  });

  it('and keep them where the planner writes the call down by itself', async () => {
    const { log, texts } = await watch('by hand');
    expect(ofType(log, 'tool_requested')).toMatchObject([{ provider_meta: ofCall, arguments: '{"text":"a"}' }]);
    expect(ofType(log, 'thinking_end')).toHaveLength(1);
    expect(texts).toEqual(['Let me see.', 'done by hand']);
  });

  it('and are retracted when the planner is tried again', async () => {
    const { seen, texts } = await watch('unsure');
    const shown = seen.flatMap((event) =>
      event.type === 'text_chunk'
        ? [event.text]
        : event.type === 'attempt_retracted' && !('seq' in event)
          ? [event.type]
          : [],
    );
    expect(shown).toEqual(['attempt 1', 'attempt_retracted', 'attempt 2']);
    expect(ofType(seen, 'attempt_retracted')).toMatchObject([{ attempt: 1, step_id: 'step_1' }]);
    expect(texts).toEqual(['attempt 2']);
  });

  it('each in blocks of its own; what the planner answers instead is said after them', async () => {
    const { run_id, log, texts } = await watch('draft');
    expect(texts).toEqual(['answer to a draft', 'better than answer to a draft']);
    expect(ofType(log, 'text_end').map(({ block_id }) => block_id)).toEqual(['step_1.block_1', 'step_1.block_2']);
    expect(log.at(-1)).toMatchObject({ answer: 'better than answer to a draft', usage: { model_calls: 1 } });
    let printed = '';
    for await (const piece of world.client.runs.stream(run_id).text()) printed += piece;
    expect(printed).toBe(texts.join(''));
  });

  it('unless it says that one is not for readers; several at once do not mix', async () => {
    const { seen, texts } = await watch('secret');
    expect(texts.slice(0, 2).toSorted()).toEqual(['answer to left', 'answer to right']);
    expect(texts[2]).toBe('answer to a grade, answer to left, answer to right');
    expect(texts).toHaveLength(3);
    expect(seen.some((event) => event.type === 'text_chunk' && event.text === 'answer to a grade')).toBe(false);
    expect(seen.at(-1)).toMatchObject({ usage: { model_calls: 3, total_tokens: 24 } });
  });

  it('and one that was not for readers is, once it is the decision', async () => {
    const { texts } = await watch('returned in secret');
    expect(texts).toEqual(['answer to returned in secret']);
  });

  it('with those of its tools that it chooses, and no others', async () => {
    const { run_id, log } = await watch('choosy');
    const request = asked.find((made) => made.run_id === run_id);
    expect(request?.tools.map(({ name }) => name)).toEqual(['test.tools.echo', 'test.agents.node']);
    expect(request?.tool_choice).toBe('required');
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    expect((await watch('mistaken')).log.at(-1)).toMatchObject({
      failure: { code: 'invalid_request', debug_message: expect.stringContaining('test.tools.none') as string },
    });
  });

  it('what was said by then stays when the run is canceled', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'slow 2' });
    const seen = [];
    for await (const event of world.client.runs.stream(run_id)) {
      seen.push(event);
      if (event.type === 'text_chunk') void world.client.runs.cancel(run_id);
    }
    checkInvariants(seen);
    expect(ofType(seen, 'text_end')).toMatchObject([{ text: 'one ', interrupted: true }]);
    expect(seen.at(-1)).toMatchObject({ status: 'canceled' });
  });

  it('what a call had said that the planner saw fail is closed as interrupted', async () => {
    const { log } = await watch('careful');
    expect(ofType(log, 'text_end')).toMatchObject([{ text: 'half of ', interrupted: true }, { text: 'it broke' }]);
    expect(log.at(-1)).toMatchObject({ answer: 'it broke' });
  });
});

describe('a planner is told', () => {
  it('its tools with their schemas, and the results with the links of the runs that it started', async () => {
    const { run_id, log } = await watch('delegate');
    const [first, second] = told.filter((context) => context.run.run_id === run_id);
    expect(first?.tools).toContainEqual(
      expect.objectContaining({
        tool_id: 'test.tools.echo',
        description: 'Says the text again.',
        kind: 'activity',
        parameters: expect.objectContaining({ type: 'object' }) as object,
      }),
    );
    expect(first?.tools).toContainEqual(
      expect.objectContaining({ tool_id: 'test.agents.node', kind: 'agent', agent_id: 'test.node' }),
    );
    expect(first?.results).toEqual([]);
    const link = { run_id: `${run_id}/call_1_1`, agent_id: 'test.node', stream_key: `perdure.run.${run_id}/call_1_1` };
    const inOrder = second?.results.toSorted((a, b) => a.tool_call_id.localeCompare(b.tool_call_id));
    expect(inOrder).toMatchObject([
      { tool_call_id: 'call_1_1', tool: 'test.agents.node', content: 'from below', is_error: false, link },
      {
        tool_call_id: 'call_1_2',
        tool: 'test.tools.echo',
        arguments: '{"text":"from here"}',
        content: 'from here',
        is_error: false,
      },
      { tool_call_id: 'call_1_3', tool: 'test.agents.narrow', is_error: true },
    ]);
    expect(inOrder?.map((result) => 'link' in result)).toEqual([true, false, false]);
    expect(second?.children).toEqual([{ ...link, tool_call_id: 'call_1_1' }]);
    expect(ofType(log, 'agent_run_started')).toHaveLength(1);
    const output = await world.temporal.workflow.getHandle(run_id).result();
    expect((output as RunOutput).children).toEqual([{ ...link, tool_call_id: 'call_1_1' }]);
  });
});
