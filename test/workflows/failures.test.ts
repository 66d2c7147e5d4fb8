import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../contract/live-events.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

describe('failures', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(testConfig({ model_max_attempts: 3 }));
  });
  afterAll(() => world.end());

  const failureOf = async (tool_calls: unknown[]) => {
    const input = script([{ tool_calls } as never, { text: 'Then not.' }]);
    const log = await world.run('test.agent', input);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'Then not.' });
    const [result] = ofType(log, 'tool_result');
    if (result?.status !== 'error') throw new Error('the call did not fail');
    return { log, result, failure: result.failure };
  };

  describe('of tools never fail the run', () => {
    it('a tool that throws is tried again where it is idempotent, then internal', async () => {
      const { log, result, failure } = await failureOf([call('tools.act', { do: 'throw' })]);
      expect(failure).toMatchObject({ kind: 'internal', recovery: 'replan' });
      expect(result.attempts).toBe(3);
      const reason = 'test.tools.act failed unexpectedly.';
      expect(ofType(log, 'tool_retry').map((retry) => [retry.attempt, retry.reason])).toEqual([
        [2, reason],
        [3, reason],
      ]);
      expect(result.debug_message).toMatch(/^Error: the tool broke\n {4}at /);
    });

    it('a retry that works is a success, with the retries in the log', async () => {
      const log = await world.run(
        'test.agent',
        script([{ tool_calls: [call('tools.act', { do: 'throw', until_attempt: 2 })] }, { text: 'ok' }]),
      );
      expect(ofType(log, 'tool_result')).toMatchObject([
        { status: 'success', content: 'worked at attempt 2', attempts: 2 },
      ]);
      expect(ofType(log, 'tool_retry')).toHaveLength(1);
    });

    it('a refusal by the tool itself is not tried again', async () => {
      const { result, failure } = await failureOf([call('tools.act', { do: 'refuse' })]);
      expect(failure).toMatchObject({ kind: 'unavailable', message: 'not today' });
      expect(result.attempts).toBe(1);
    });

    it('a tool that takes too long is a timeout', async () => {
      const { failure } = await failureOf([call('tools.act', { do: 'hang' })]);
      expect(failure).toMatchObject({ kind: 'timeout' });
    });

    it('arguments that do not fit name the field', async () => {
      const { failure } = await failureOf([call('tools.echo', { text: 5 })]);
      expect(failure).toMatchObject({ kind: 'invalid_call', recovery: 'correct_call', issues: [{ path: 'text' }] });
    });

    it('arguments that are no JSON are kept as the model wrote them', async () => {
      const { log, failure } = await failureOf([{ tool: 'test.tools.echo', args: '{"text": "half' }]);
      expect(failure).toMatchObject({ kind: 'invalid_call' });
      expect(ofType(log, 'tool_requested')).toMatchObject([{ arguments: '{"text": "half' }]);
    });

    it('a result that cannot be written as JSON is malformed', async () => {
      const { failure } = await failureOf([call('tools.act', { do: 'cyclic' })]);
      expect(failure).toMatchObject({ kind: 'malformed_result' });
    });
  });

  describe('of models', () => {
    it('401 is not tried again, and the user reads nothing of keys', async () => {
      const log = await world.run('test.agent', script([{ fail: { code: 'model_unauthorized' } }]));
      const end = log.at(-1);
      if (end?.type !== 'run_completed' || end.status !== 'failed') throw new Error('the run did not fail');
      expect(end.failure).toMatchObject({ code: 'model_unauthorized', retryable: false });
      expect(end.failure.message).not.toMatch(/key|script|401/i);
      expect(end.failure.debug_message).toContain('attempt 1');
    });

    it('attempts are bounded', async () => {
      const log = await world.run('test.agent', script([{ fail: { code: 'model_server_error' } }]));
      expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'model_server_error', retryable: true } });
      expect(ofType(log, 'attempt_retracted')).toMatchObject([{ attempt: 3 }]);
    });

    it('a rate limit is waited out for as long as the vendor says', async () => {
      const wait = 1_500;
      const input = script([
        { text: 'ok', attempts: [{ fail: { code: 'model_rate_limited', retry_after_ms: wait } }, {}] },
      ]);
      const log = await world.run('test.agent', input);
      const end = log.at(-1);
      expect(end).toMatchObject({ status: 'success', answer: 'ok' });
      expect(end?.type === 'run_completed' && end.duration_ms).toBeGreaterThanOrEqual(wait);
    });

    it('a call that fails after half its text is retracted for live readers, and unseen by late ones', async () => {
      const input = script([
        {
          text: ['The answer ', 'is ', '42.'],
          attempts: [
            { text: ['The answer ', 'might be ', 'lost'], fail: { code: 'model_stream_cut', after_deltas: 2 } },
            {},
          ],
        },
      ]);
      const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
      const seen = await collect(world.client.runs.stream(run_id));
      const live = seen.filter((event): event is LiveEvent => 'live_id' in event && !('seq' in event));
      const chunksOf = (attempt: number) =>
        live
          .flatMap((event) => (event.type === 'text_chunk' && event.attempt === attempt ? [event.text] : []))
          .join('');
      expect(chunksOf(1)).toBe('The answer might be ');
      expect(chunksOf(2)).toBe('The answer is 42.');
      const kinds = live.map((event) => `${event.type} ${'attempt' in event ? event.attempt : ''}`);
      expect(kinds.indexOf('attempt_retracted 1')).toBeGreaterThan(kinds.lastIndexOf('text_chunk 1'));
      expect(kinds.indexOf('attempt_retracted 1')).toBeLessThan(kinds.indexOf('text_start 2'));
      expect(ofType(seen, 'attempt_retracted')).toMatchObject([{ attempt: 1, step_id: 'step_1' }]);
      expect(ofType(seen, 'text_end')).toMatchObject([{ text: 'The answer is 42.', attempt: 2 }]);

      const late = await collect(world.client.runs.stream(run_id));
      expect(JSON.stringify(late.slice(1))).not.toContain('might be');
      expect(durable(late)).toEqual(durable(seen));
    });
  });

  describe('of requests end in a failed run that says what was wrong', () => {
    const start = async (...args: unknown[]) => {
      const workflowId = `raw-${Math.random()}`;
      await world.temporal.workflow.start('agentRun', { workflowId, taskQueue: world.server.taskQueue, args });
      return (await world.logOf(workflowId)).at(-1);
    };

    it('an unknown agent', async () => {
      expect(await start({ agent_id: 'test.nobody', input: 'hello' })).toMatchObject({
        status: 'failed',
        failure: { code: 'unknown_agent', message: expect.stringContaining('test.agent') },
      });
    });

    it('a field that is missing, of the wrong type, or unknown', async () => {
      for (const [request, field] of [
        [{ agent_id: 'test.agent' }, 'input'],
        [{ agent_id: 'test.agent', input: 7 }, 'input'],
        [{ agent_id: 'Not Canonical', input: 'x' }, 'agent_id'],
        [{ agent_id: 'test.agent', input: 'x', temprature: 1 }, 'temprature'],
      ] as const) {
        expect(await start(request)).toMatchObject({
          status: 'failed',
          failure: { code: 'invalid_request', message: expect.stringContaining(field) },
        });
      }
    });

    it('no request at all, or something that is no object', async () => {
      for (const args of [[], [null], ['hello'], [[1, 2]]]) {
        expect(await start(...args)).toMatchObject({ status: 'failed', failure: { code: 'invalid_request' } });
      }
    });

    it('an unknown model profile', async () => {
      expect(await start({ agent_id: 'test.agent', input: 'x', model_profile: 'gold' })).toMatchObject({
        status: 'failed',
        failure: { code: 'unknown_profile' },
      });
    });

    it('carried state of a version that nobody knows', async () => {
      expect(await start({ agent_id: 'test.agent', input: 'x' }, { version: 99 })).toMatchObject({
        status: 'failed',
        failure: { code: 'unknown_version' },
      });
    });

    it('our client refuses them before anything is written', async () => {
      const { runs } = world.client;
      await expect(runs.start({ agent_id: 'test.agent', input: '' })).rejects.toMatchObject({
        code: 'invalid_request',
      });
      const large = runs.start({ agent_id: 'test.agent', input: 'x'.repeat(5 * 1024 * 1024) });
      await expect(large).rejects.toMatchObject({
        code: 'input_too_large',
        message: expect.stringContaining('5242880 bytes'),
      });
    });

    it('a run id that is taken', async () => {
      const run_id = `mine-${Math.random()}`;
      const request = { agent_id: 'test.agent', input: script([{ text: 'ok' }]), run_id };
      await world.client.runs.start(request);
      await expect(world.client.runs.start(request)).rejects.toMatchObject({ code: 'run_exists' });
      await world.logOf(run_id);
      await expect(world.client.runs.start(request)).rejects.toMatchObject({ code: 'run_exists' });
      await expect(world.client.runs.start({ ...request, run_id: 'a/b' })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    });
  });
});
