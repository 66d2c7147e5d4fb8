/** An answer that the vendor's limit cut says so, and the agent has a choice: keep it, have it continued, or fail. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { DurableEvent } from '../../contract/events.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import { anthropic, gemini, openai, scripted, scriptFromInput } from '../../providers/index.js';
import { tellAll } from '../dialects/tell-all.js';
import { startWireServer, streamsOf } from '../providers/wire-server.js';
import { checkInvariants } from '../support/invariants.js';
import { script } from '../support/test-agents.js';
import { collect, createWorld, durable, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const model = scripted(scriptFromInput);
const echo = defineTool({ tool_id: 'test.tools.echo', description: 'Echo.', input: z.object({}), run: () => 'echo' });
const agent = (name: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({ agent_id: `test.${name}`, instructions: 'Play the input.', tools: [echo], ...more });
const cut = (text: string) => ({ text, stop_reason: 'max_tokens' });

let world: World;
beforeAll(async () => {
  world = await createWorld({
    models: { script: { provider: model, model: 'scripted-1' } },
    agents: [
      agent('keeps'),
      agent('continues', { on_cut_answer: 'continue' }),
      agent('fails', { on_cut_answer: 'fail' }),
      agent('sums_up', { on_cut_answer: 'fail', synthesis: true }),
    ],
  });
});
afterAll(() => world.end());

/** The log of a run that was watched from its start, whose stream is as streams must be. */
async function watched(agentId: string, input: string, request: object = {}): Promise<DurableEvent[]> {
  const { run_id } = await world.client.runs.start({ agent_id: agentId, input, ...request });
  const seen = await collect(world.client.runs.stream(run_id));
  checkInvariants(seen);
  return durable(seen);
}

const end = (log: readonly DurableEvent[]) => log.at(-1);
const reasons = (log: readonly DurableEvent[]) => ofType(log, 'usage_recorded').map(({ stop_reason }) => stop_reason);

describe('an answer', () => {
  it('says why it stopped: each model call, and the run', async () => {
    const turns = [{ tool_calls: [{ tool: 'test.tools.echo' }] }, { text: 'Whole.' }];
    const log = await world.run('test.keeps', script(turns));
    expect(reasons(log)).toEqual(['tool_use', 'end_turn']);
    expect(end(log)).toMatchObject({ status: 'success', answer: 'Whole.', stop_reason: 'end_turn' });
  });

  it('that was cut is kept by default, and says so', async () => {
    const log = await world.run('test.keeps', script([cut('One two')]));
    expect(reasons(log)).toEqual(['max_tokens']);
    expect(end(log)).toMatchObject({ status: 'success', answer: 'One two', stop_reason: 'max_tokens' });
    const { run_id } = log[0]!;
    expect(await world.temporal.workflow.getHandle(run_id).result()).toMatchObject({ stop_reason: 'max_tokens' });
  });

  it('that was cut fails the run of an agent that wants it whole', async () => {
    for (const name of ['fails', 'sums_up']) {
      const turns =
        name === 'fails' ? [cut('One two')] : [{ text: 'x' }, { synthesis: 'One', stop_reason: 'max_tokens' }];
      const log = await watched(`test.${name}`, script(turns));
      expect(end(log)).toMatchObject({
        status: 'failed',
        failure: { code: 'model_answer_cut', message: 'The answer became too long for the model, and was cut.' },
      });
    }
  });
});

describe('an answer that is continued', () => {
  const parts = [cut('One two '), cut('three '), { text: 'four.' }];

  it('is one answer, of as many steps as it took', async () => {
    const log = await watched('test.continues', script(parts));
    expect(end(log)).toMatchObject({
      answer: 'One two three four.',
      stop_reason: 'end_turn',
      usage: { model_calls: 3 },
    });
    expect(reasons(log)).toEqual(['max_tokens', 'max_tokens', 'end_turn']);
    expect(ofType(log, 'text_end').map(({ text, continues }) => [text, continues])).toEqual([
      ['One two ', undefined],
      ['three ', true],
      ['four.', true],
    ]);
    expect(ofType(log, 'summary_final').map(({ text }) => text)).toEqual(['One two three four.']);
  });

  it('is asked for by a word to the model, which may call no tools meanwhile', async () => {
    await world.run('test.continues', script(parts));
    const [first, second] = model.calls.slice(-3);
    expect(first).toMatchObject({ tool_choice: 'auto' });
    expect(second).toMatchObject({ tool_choice: 'none' });
    expect(second?.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: 'One two ' },
      { role: 'system', content: expect.stringContaining('exactly where it stopped') as string },
    ]);
  });

  it('is shown once by a dialect that has shown its parts', async () => {
    const log = await world.run('test.continues', script(parts));
    const told = JSON.stringify(tellAll('event_contract', log));
    expect(told.match(/three/g)).toHaveLength(1);
  });

  it('is bounded: what is then still cut is kept', async () => {
    const log = await world.run('test.continues', script(Array.from({ length: 9 }, (_, n) => cut(`${n} `))));
    expect(end(log)).toMatchObject({ status: 'success', answer: '0 1 2 3 ', stop_reason: 'max_tokens' });
  });

  it('stops at the limits of the run, and what there is of it is kept', async () => {
    const log = await watched('test.continues', script(parts), { limits: { run: { max_steps: 2 } } });
    expect(end(log)).toMatchObject({ status: 'success', answer: 'One two three ', stop_reason: 'max_tokens' });
    expect(ofType(log, 'budget_exceeded')).toEqual([]);
  });

  it('is kept as far as it came where the vendor fails in its middle', async () => {
    const log = await world.run('test.continues', script([cut('One two '), { fail: { code: 'model_bad_request' } }]));
    expect(end(log)).toMatchObject({ status: 'success', answer: 'One two ', stop_reason: 'max_tokens' });
    expect(ofType(log, 'step_completed').map(({ status }) => status)).toEqual(['completed', 'error']);
  });
});

describe('the limit of a vendor', () => {
  it.each([
    ['openai', '/v1', (baseURL: string) => openai({ baseURL, apiKey: 'sk-test' })],
    ['anthropic', '', (baseURL: string) => anthropic({ baseURL, apiKey: 'sk-test' })],
    ['gemini', '', (baseURL: string) => gemini({ baseURL, apiKey: 'sk-test' })],
  ] as const)('is told in one word: %s', async (vendor, path, connect) => {
    const server = await startWireServer(path);
    const asking = await createWorld({
      models: { vendor: { provider: connect(server.baseURL), model: 'some-1' } },
      agents: [defineAgent({ agent_id: 'test.asks', instructions: 'Answer.', on_cut_answer: 'continue' })],
    });
    try {
      server.reply(streamsOf(vendor)('length'));
      server.reply(streamsOf(vendor)('text'));
      const log = await asking.run('test.asks', 'Tell me.');
      expect(reasons(log)).toEqual(['max_tokens', 'end_turn']);
      const said = ofType(log, 'text_end').map(({ text }) => text);
      expect(said).toHaveLength(2);
      expect(end(log)).toMatchObject({ status: 'success', answer: said.join(''), stop_reason: 'end_turn' });
      // The vendor is told to go on, after what it said.
      expect(JSON.stringify(server.requests[1]?.body)).toMatch(/exactly where it stopped/);
    } finally {
      await asking.end();
      await server.close();
    }
  });
});
