/** Results of tools in a thread's record: the tool's own object for readers, and the words that models are told. */
import { describe, expect, it } from 'vitest';
import type { EventOf } from '../../contract/events.js';
import { PROFILES } from '../../contract/profiles.js';
import { profiledMessage } from '../../contract/record-profiles.js';
import { contextOf } from '../../contract/thread-context.js';
import { AgentMessage } from '../../contract/thread-records.js';
import type { AgentToolResultContent } from '../../contract/thread-records.js';
import { toldOf, toolResult } from '../../contract/tool-blocks.js';
import { failureText, toolFailure } from '../../contract/tool-failure.js';
import { at, logOf, result } from './turn-log.js';

function blockOf(more: object): AgentToolResultContent {
  const [event] = logOf(result(1, more));
  return toolResult({ thread_id: 'thr_1' }, event as EventOf<'tool_result'>) as AgentToolResultContent;
}

const failure = toolFailure('internal', 'It broke.', [{ path: 'a', message: 'no' }]);
const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AA==' } };
const failed = (message: string, name = 'test.tools.echo', kind: 'internal' | 'denied' = 'internal') => {
  const why = toolFailure(kind, message);
  return { status: 'error', name, failure: why, content: failureText(why) };
};
const CLIENT = 'client.declared.client_look';

describe('a result', () => {
  it.each([
    ['a text', { content: 'hi' }, { result: 'hi' }],
    ['nothing', { content: '' }, { result: '' }],
    ['an object', { content: '{"b":1,"a":[2]}', value: { b: 1, a: [2] } }, { b: 1, a: [2] }],
    ['an object that looks wrapped', { content: '{"result":"x"}', value: { result: 'x' } }, { result: 'x' }],
    ['a list', { content: '[1,2]', value: [1, 2] }, { result: [1, 2] }],
    ['a number', { content: '7', value: 7 }, { result: 7 }],
    ['null', { content: 'null', value: null }, { result: null }],
    ['an object with words of its own', { content: 'It is 7.', value: { n: 7 } }, { n: 7 }],
    ['a text with a value of its own', { content: 'It is 7.', value: 'seven' }, { result: 'seven' }],
    ['pictures', { content: [image] }, { result: [image] }],
    ['a failure', { status: 'error', failure, content: failureText(failure) }, { error: 'It broke.' }],
    ['a failure in other words', { status: 'error', failure, content: 'Broken.' }, { error: 'It broke.' }],
    ['a client’s failure', failed('{"error":"KeyError: x"}', CLIENT), { error: 'KeyError: x' }],
    ['a client’s refusal', failed('not me', CLIENT, 'denied'), { error: 'not me' }],
    ['a tool’s failure that is JSON', failed('{"a":1}'), { error: '{"a":1}' }],
  ])('that is %s is the tool’s own, and is told as it was', (_what, outcome, raw_response) => {
    const block = blockOf(outcome);
    expect(block.raw_response).toEqual(raw_response);
    // As it is stored.
    const stored = JSON.parse(JSON.stringify(block)) as AgentToolResultContent;
    expect(toldOf(stored).content).toEqual(outcome.content);
    expect(AgentMessage.parse({ role: 'roboto', content: [stored], status: 'completed', created: at }).content).toEqual(
      [stored],
    );
  });

  it('is not stored twice', () => {
    for (const outcome of [{ content: 'x'.repeat(1_000) }, { content: '[1]', value: [1] }, failed('no')])
      expect(blockOf(outcome).told).not.toHaveProperty('content');
  });

  it('keeps a reference to what was trimmed', () => {
    const output_ref = { id: 'art_1', byte_size: 9, line_count: 1 };
    expect(blockOf({ content: 'x…', trimmed: true, output_ref })).toMatchObject({
      raw_response: { result: 'x…' },
      told: { name: 'test.tools.echo', trimmed: true, output_ref },
    });
  });
});

describe('a record of 0.7', () => {
  const output_ref = { id: 'art_1', byte_size: 9, line_count: 1 };
  const raw_response = { name: 'test.tools.echo', content: 'secret', trimmed: true, output_ref };
  const old: AgentToolResultContent = {
    content_type: 'tool_result',
    tool_name: 'echo',
    tool_use_id: 'turn_3_call_1_1',
    runtime_ms: 3,
    status: 'success',
    raw_response,
  };
  const message = { role: 'roboto' as const, content: [old], status: 'completed' as const, created: at };

  it('is read by models as before', () => {
    expect(contextOf([message]).messages).toEqual([
      {
        role: 'tool',
        tool_call_id: 'turn_3_call_1_1',
        tool_name: 'test.tools.echo',
        content: 'secret',
        trimmed: true,
        output_ref,
      },
    ]);
  });

  it('is blanked as before', () => {
    expect(profiledMessage(PROFILES.agent_debug, message)).toEqual(message);
    expect(profiledMessage(PROFILES.user_chat, message).content).toMatchObject([
      { raw_response: { name: 'test.tools.echo', content: '', trimmed: true } },
    ]);
    expect(JSON.stringify(profiledMessage(PROFILES.user_chat, message))).not.toContain('art_1');
  });
});

it('under a profile that hides results there is neither the object nor the words', () => {
  const blocks = [blockOf({ content: 'It is secret.', value: { a: 'secret' } }), blockOf(failed('secret'))];
  const message = { role: 'roboto' as const, content: blocks, status: 'completed' as const, created: at };
  for (const profile of [PROFILES.user_chat, PROFILES.metrics]) {
    const shown = profiledMessage(profile, message);
    expect(JSON.stringify(shown)).not.toContain('secret');
    expect(shown.content).toMatchObject([{ raw_response: null }, { raw_response: null }]);
    expect(() => AgentMessage.parse(shown)).not.toThrow();
  }
  expect(profiledMessage(PROFILES.agent_debug, message)).toEqual(message);
});
