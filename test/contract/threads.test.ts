/** Threads in the contract: older spellings, the projection of a log, and the conversation that models read. */
import { describe, expect, it } from 'vitest';
import type { EventDraft } from '../../contract/events.js';
import { contextOf } from '../../contract/thread-context.js';
import { foldTurn, projectTurn, withLiveText } from '../../contract/thread-projection.js';
import { AgentThreadRecord, readThreadRecord } from '../../contract/thread-records.js';
import { checkSendMessage, checkThreadRequest } from '../../contract/thread-request.js';
import { beginTurnMessages } from '../../contract/turn-messages.js';
import { asked, at, canceled, done, logOf, result, said, shapes, step } from './turn-log.js';

describe('a record', () => {
  const record = {
    thread_id: 'thr_1',
    org_id: 'o',
    created: at,
    created_by: 'u',
    status: 'user_turn',
    continuation_token: 't',
  };
  const { thread_id: _, ...rest } = record;

  it.each(['session_id', 'chat_id'])('is read with %s for its id, which is never written', (old) => {
    const read = readThreadRecord({ ...rest, [old]: 'thr_1', forked_from_session_id: 'thr_0' });
    expect(read).toEqual(AgentThreadRecord.parse({ ...record, forked_from_thread_id: 'thr_0' }));
    expect(Object.keys(read)).not.toContain(old);
  });

  it('of a status or a role that the seed does not know is refused', () => {
    expect(() => readThreadRecord({ ...record, status: 'sleeping' })).toThrow();
    const message = { role: 'tool', content: [], status: 'completed', created: at };
    expect(() => readThreadRecord({ ...record, messages: [message] })).toThrow();
    expect(() => readThreadRecord(null)).toThrow();
  });
});

describe('a request', () => {
  it('takes texts, blocks without a type, and the older spellings of the id', () => {
    const content = [{ content_type: 'text', text: 'hi' }];
    const request = {
      agent_id: 'a.b',
      session_id: 'thr_1',
      messages: ['hi', { role: 'user', content: [{ text: 'hi' }] }],
    };
    expect(checkThreadRequest(request)).toMatchObject({
      thread_id: 'thr_1',
      messages: [
        { role: 'user', content },
        { role: 'user', content },
      ],
    });
    expect(checkSendMessage({ message: 'hi', goals: null })).toMatchObject({ on_busy: 'reject' });
  });

  it.each([
    ['an answer as its last message', { messages: [{ role: 'assistant', content: [{ text: 'hi' }] }] }],
    ['goals without a message', { goals: [{ goal_type: 'x' }] }],
    ['a field that is not known', { colour: 'red' }],
    ['an id with a slash', { thread_id: 'a/b' }],
    ['more than the server takes', { messages: ['x'.repeat(1_100_000)] }],
  ])('with %s is refused', (_what, fields) => {
    expect(() => checkThreadRequest({ agent_id: 'a.b', ...fields })).toThrow(/messages|goals|colour|thread_id|bytes/);
  });
});

describe('the messages of a turn', () => {
  it('are one per speaker and step, finished when the next one speaks', () => {
    const events = logOf(
      step(1),
      said('Let me look.'),
      asked(1),
      asked(2, 'nonsense'),
      result(2),
      result(1),
      done('completed'),
      step(2),
      said('So.'),
    );
    expect(shapes(events)).toEqual([
      ['assistant', 'completed', 'text', 'tool_use', 'tool_use'],
      ['roboto', 'completed', 'tool_result', 'tool_result'],
      ['assistant', 'generating', 'text'],
    ]);
    const [first] = projectTurn('thr_1', events).messages;
    expect(first?.content[2]).toMatchObject({
      input: null,
      tool_use_id: 'turn_3_call_1_2',
      raw_request: { arguments: 'nonsense' },
    });
  });

  it('only grow as the log does: what was shown of them is never taken back', () => {
    const events = logOf(
      step(1),
      said('a'),
      said('b'),
      asked(1),
      asked(2),
      result(1),
      result(2),
      done('completed'),
      step(2),
      said('c', { interrupted: true }),
      done('error'),
      canceled,
    );
    const turn = beginTurnMessages('thr_1');
    let before = '';
    for (const event of events) {
      foldTurn(turn, event);
      const all = JSON.stringify(turn.messages.map(({ role, content }) => [role, content]));
      expect(all.startsWith(before.replace(/["\]}]+$/, ''))).toBe(true);
      before = all;
    }
    expect(turn.messages.slice(0, -1).every((message) => message.status === 'completed')).toBe(true);
  });

  it('have no block for what was thought, and none for files', () => {
    const thought = said('hm', { type: 'thinking_end', block_id: 'step_1.block_0' });
    const file = { filename: 'a.csv', mime_type: 'text/csv', byte_size: 1, url: 'https://files.example.org/1' };
    const made: EventDraft = { type: 'file_generated', step_id: 'step_1', file_id: 'file_1', ...file };
    const log = logOf(step(1), thought, said('Well.'), asked(1), made, result(1), done('completed'));
    expect(shapes(log)).toEqual([
      ['assistant', 'completed', 'text', 'tool_use'],
      ['roboto', 'completed', 'tool_result'],
    ]);
  });

  it('of a cancel keep what was said, and say so', () => {
    expect(shapes(logOf(step(1), said('Well', { interrupted: true }), done('error'), canceled))).toEqual([
      ['assistant', 'cancelled', 'text', 'error'],
    ]);
    expect(shapes(logOf(step(1), asked(1), asked(2), result(1), canceled))).toEqual([
      ['assistant', 'completed', 'tool_use', 'tool_use'],
      ['roboto', 'cancelled', 'tool_result'],
      ['assistant', 'cancelled', 'error'],
    ]);
    expect(shapes(logOf(canceled))).toEqual([['assistant', 'cancelled', 'error']]);
  });

  it('go on with the text that is being written, and are not changed by it', () => {
    const turn = projectTurn('thr_1', logOf(step(1), said('Once ')));
    expect(withLiveText(turn, 'more').map(({ content }) => content)).toEqual([
      [{ content_type: 'text', text: 'Once more' }],
    ]);
    expect(withLiveText(turn, '')).toEqual(turn.messages);
    expect(turn.messages[0]?.content).toEqual([{ content_type: 'text', text: 'Once ' }]);
  });
});

describe('the conversation that models read', () => {
  const user = {
    role: 'user' as const,
    content: [{ content_type: 'text' as const, text: 'hi' }],
    status: 'completed' as const,
    created: at,
  };
  const answered = projectTurn(
    'thr_1',
    logOf(step(1), said('Looking.'), asked(1), result(1), done('completed')),
  ).messages;
  const killed = projectTurn('thr_1', logOf(step(1), asked(1), asked(2), result(1))).messages;

  it('has calls and results under ids that are unique in the thread, and leaves errors out', () => {
    const error = {
      role: 'assistant' as const,
      content: [{ content_type: 'error' as const, error_message: 'no', error_code: null }],
      status: 'failed' as const,
      created: at,
    };
    expect(contextOf([user, ...answered, error]).messages).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'Looking.',
        tool_calls: [
          { id: 'turn_3_call_1_1', type: 'function', function: { name: 'test.tools.echo', arguments: '{"a":1}' } },
        ],
        meta: { step_id: 'message_1' },
      },
      { role: 'tool', tool_call_id: 'turn_3_call_1_1', tool_name: 'test.tools.echo', content: 'x' },
    ]);
  });

  it('closes a call that never got its result before somebody speaks', () => {
    const { messages, open } = contextOf([user, ...killed, user]);
    expect(messages.slice(2)).toMatchObject([
      { role: 'tool', tool_call_id: 'turn_3_call_1_1', content: 'x' },
      { role: 'tool', tool_call_id: 'turn_3_call_1_2', is_error: true },
      { role: 'user' },
    ]);
    expect(open.size).toBe(0);
  });

  it('only grows: a longer thread begins with the shorter one', () => {
    const all = [user, ...answered, user, ...killed, user];
    const whole = contextOf(all);
    for (let n = 0; n < all.length; n++) {
      const part = contextOf(all.slice(0, n));
      expect(whole.messages.slice(0, part.messages.length)).toEqual(part.messages);
    }
  });
});
