/** Whose turn a reader is told that it is, by what the messages of the open turn show of it so far. */
import { describe, expect, it } from 'vitest';
import { toldStatus } from '../../client/threads/open-turn.js';
import { deltaSince, positionOf } from '../../contract/thread-delta.js';
import type { ThreadView } from '../../contract/thread-delta.js';
import type { OpenPause, ThreadHeader } from '../../contract/thread-commands.js';
import type { AgentContent, AgentMessage } from '../../contract/thread-records.js';

const run_id = 'thr_1/turn_1';
const created = '2026-03-01T10:00:00.000Z';
const use = (n: number, tool_name = 'client_look'): AgentContent => ({
  content_type: 'tool_use',
  tool_name,
  tool_use_id: `use_${n}`,
  input: {},
  raw_request: null,
});
const result = (n: number): AgentContent => ({
  content_type: 'tool_result',
  tool_name: 'client_look',
  tool_use_id: `use_${n}`,
  runtime_ms: 1,
  status: 'error',
  raw_response: null,
});
const asks = (n: number): AgentContent => ({
  content_type: 'text',
  text: '?',
  asks: { kind: 'clarification', tool_use_id: `use_${n}`, run_id, await_id: 'a' },
});
const said = (role: 'assistant' | 'roboto', ...content: AgentContent[]): AgentMessage => ({
  role,
  content,
  status: 'completed',
  created,
});
const pending = (...all: number[]) =>
  all.map((n) => ({ tool_use_id: `use_${n}`, run_id, tool_call_id: `call_1_${n}`, await_id: 'a' }));
const pause = (n: number, more: Partial<OpenPause> = {}): OpenPause => ({
  run_id,
  await_id: 'a',
  kind: 'clarification',
  asked: { tool_use_id: `use_${n}` },
  ...more,
});
const header = (fields: Partial<ThreadHeader>) =>
  ({
    counter: 9,
    changed: { status: 7, title: 8, goals: 1 },
    turn: { run_id },
    pending: [],
    given: [],
    pauses: [],
    ...fields,
  }) as unknown as ThreadHeader;

describe('it is the client’s turn', () => {
  const told = (fields: Partial<ThreadHeader>, ...messages: AgentMessage[]) =>
    toldStatus(header({ status: 'client_tool_turn', ...fields }), messages).status;

  it('when all that it is to run is there', () => {
    expect(told({ pending: pending(1, 2) }, said('assistant', use(1)))).toBe('roboto_turn');
    expect(told({ pending: pending(1, 2) }, said('assistant', use(1), use(2)))).toBe('client_tool_turn');
  });

  it('and the results of those that it is not: denied, or given at the run', () => {
    const asked = said('assistant', use(1), use(2), use(3, 'search'));
    expect(told({ pending: pending(1) }, asked)).toBe('roboto_turn');
    expect(told({ pending: pending(1) }, asked, said('roboto', result(2)))).toBe('client_tool_turn');
    expect(told({ pending: pending(1) }, asked, said('roboto', result(2), result(1)))).toBe('roboto_turn');
  });

  it('also where it has given some of them; and a worker of 0.7 does not say which', () => {
    const asked = said('assistant', use(1), use(2));
    expect(told({ pending: pending(1), given: ['use_2'] }, asked)).toBe('client_tool_turn');
    const { given: _given, ...old } = header({ status: 'client_tool_turn', pending: pending(1) });
    expect(toldStatus(old, [asked]).status).toBe('client_tool_turn');
  });
});

it('it is the user’s turn when each question that is not held is there, and else when the turn is over', () => {
  const told = (fields: Partial<ThreadHeader>, ...messages: AgentMessage[]) =>
    toldStatus(header({ status: 'user_turn', ...fields }), messages).status;
  expect(told({ pauses: [pause(1)] }, said('assistant', use(1)))).toBe('roboto_turn');
  expect(told({ pauses: [pause(1)] }, said('assistant', asks(1)))).toBe('user_turn');
  expect(told({ pauses: [pause(1), pause(2)] }, said('assistant', asks(1)))).toBe('roboto_turn');
  expect(told({ pauses: [pause(1), pause(2, { held: true })] }, said('assistant', asks(1)))).toBe('user_turn');
  const { turn: _turn, ...over } = header({ status: 'user_turn' });
  expect(toldStatus(over, []).status).toBe('user_turn');
});

it('a change that was not told is told by the next delta', () => {
  const view = (messages: AgentMessage[]): ThreadView => ({
    ...toldStatus(header({ status: 'user_turn', pauses: [pause(1)] }), messages),
    title: 't',
    goals: [],
    from: 0,
    messages,
    stored: 0,
    open: true,
  });
  const first = said('assistant', use(1));
  const before = deltaSince(view([first]), { counter: 6, concluded: 0 });
  expect(before?.delta).toMatchObject({ status: null, title: 't' });
  const after = deltaSince(view([first, said('assistant', asks(1))]), before!.position);
  expect(after?.delta.status).toBe('user_turn');
  expect(deltaSince(view([first, said('assistant', asks(1))]), after!.position)?.delta.status).toBeNull();
  expect(positionOf(view([first])).counter).toBe(6);
});
