/** What a turn asks of people, in its messages; and what must stay in sight while the client's tools have no results. */
import { describe, expect, it } from 'vitest';
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import { contextOf } from '../../contract/thread-context.js';
import { foldTurn, projectTurn } from '../../contract/thread-projection.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { beginTurnMessages } from '../../contract/turn-messages.js';
import { asked, at, canceled, done, logOf, result, step } from './turn-log.js';

const CLIENT = 'client.declared.client_look';
const ASK = 'runtime.user.ask_clarification';
const run_id = 'thr_1/turn_3';
const client = (n: number) => asked(n, '{}', CLIENT);
const wants = (n: number) => asked(n, '{"question":"Which?"}', ASK);
const clientResult = (n: number) => result(n, { name: CLIENT });
const answer = (n: number) => result(n, { name: ASK, content: 'this' });
const ids = (n: number) => ({ step_id: 'step_1', tool_call_id: `call_1_${n}` });
const question = (n: number): EventDraft => ({
  type: 'await_clarification',
  ...ids(n),
  await_id: `clarification_call_1_${n}`,
  question: 'Which?',
});
const approval = (n: number, name = 'test.guarded.pay'): EventDraft => ({
  type: 'await_approval',
  ...ids(n),
  await_id: `approval_call_1_${n}`,
  name,
  arguments: '{}',
  digest: 'd',
});
const tools = (...calls: number[]): EventDraft => ({
  type: 'await_external_tools',
  step_id: 'step_1',
  await_id: 'external_tools_step_1',
  calls: calls.map((n) => ({ tool_call_id: `call_1_${n}`, name: CLIENT, arguments: '{}' })),
});
const resolved = (await_id: string, resolution: 'answered' | 'approved' | 'denied' | 'expired'): EventDraft => ({
  type: 'await_resolved',
  step_id: 'step_1',
  await_id,
  resolution,
});
const ofChild = (kind: 'clarification' | 'approval', state: 'open' | 'resolved', more: object = {}): EventDraft => ({
  type: 'child_await_changed',
  ...ids(1),
  kind,
  state,
  link: { run_id: `${run_id}/call_1_1`, agent_id: 'test.agent', stream_key: 'k' },
  await_id: 'clarification_call_2_1',
  ...(state === 'open' ? { asks: { text: 'How deep?', tool_call_id: 'call_2_1' } } : {}),
  ...more,
});

/** A message in a few words. */
const told = (messages: readonly AgentMessage[]) =>
  messages.map(({ role, content }) => {
    const blocks = content.map((block) => {
      if (block.content_type === 'tool_use') return `use ${block.tool_use_id.slice(-1)}`;
      if (block.content_type === 'tool_result') return `result ${block.tool_use_id.slice(-1)}`;
      return block.content_type === 'text' ? `${block.asks === undefined ? 'says' : 'asks'} ${block.text}` : 'error';
    });
    return `${role}: ${blocks.join(', ')}`;
  });

/** As the published client looks for what it is to run: in the last message, or in the one before its results. */
function found(messages: readonly AgentMessage[]): string[] {
  const [before, last] = messages.slice(-2).length === 2 ? messages.slice(-2) : [undefined, messages.at(-1)];
  const uses = (message: AgentMessage | undefined) =>
    (message?.content ?? []).flatMap((block) => (block.content_type === 'tool_use' ? [block.tool_use_id] : []));
  if (last?.role === 'assistant') return uses(last);
  const given = (last?.content ?? []).flatMap((block) =>
    block.content_type === 'tool_result' ? [block.tool_use_id] : [],
  );
  return last?.role === 'roboto' && before?.role === 'assistant'
    ? uses(before).filter((id) => !given.includes(id))
    : [];
}

/** Folds one event after another, and looks each time. */
function watched(events: DurableEvent[]): AgentMessage[] {
  const turn = beginTurnMessages('thr_1');
  const open = new Set<string>();
  let before: AgentMessage[] = [];
  for (const event of events) {
    foldTurn(turn, event);
    if (event.type === 'tool_requested' && event.name === CLIENT) open.add(`turn_3_${event.tool_call_id}`);
    if (event.type === 'tool_result') open.delete(`turn_3_${event.tool_call_id}`);
    expect(found(turn.messages), event.type).toEqual(expect.arrayContaining([...open]));
    // What was shown stays as it is, but for more blocks in the last message.
    before.forEach((message, n) => {
      const now = turn.messages[n];
      expect(now?.content.slice(0, message.content.length)).toEqual(message.content);
      if (n < before.length - 1) expect(now).toEqual(message);
    });
    before = structuredClone([...turn.messages]);
  }
  return turn.messages;
}

describe('a question beside a client tool', () => {
  it('comes after the result, with its answer', () => {
    const events = [step(1), wants(1), client(2), question(1), tools(2)];
    expect(told(watched(logOf(...events)))).toEqual(['assistant: use 1, use 2']);
    const external = resolved('external_tools_step_1', 'answered');
    const given = [...events, external, clientResult(2)];
    expect(told(watched(logOf(...given)))).toEqual([
      'assistant: use 1, use 2',
      'roboto: result 2',
      'assistant: asks Which?',
    ]);
    const messages = watched(logOf(...given, resolved('clarification_call_1_1', 'answered'), answer(1)));
    expect(told(messages).slice(2)).toEqual(['assistant: asks Which?', 'user: says this', 'roboto: result 1']);
    expect(messages.every(({ status }) => status === 'completed')).toBe(true);
    // Models read a call with its result.
    expect(contextOf(messages).messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool']);
  });

  it('that is answered at the run meanwhile comes after it too, and what is over without an answer never', () => {
    const asking = [step(1), wants(1), client(2), question(1), tools(2)];
    const answered = [...asking, resolved('clarification_call_1_1', 'answered'), answer(1), clientResult(2)];
    expect(told(watched(logOf(...answered)))).toEqual([
      'assistant: use 1, use 2',
      'roboto: result 1, result 2',
      'assistant: asks Which?',
      'user: says this',
    ]);
    const late = result(1, { name: ASK, status: 'error', content: '', failure: failureOf('expired') });
    const expired = [...asking, resolved('clarification_call_1_1', 'expired'), late, clientResult(2)];
    expect(told(watched(logOf(...expired)))).toEqual(['assistant: use 1, use 2', 'roboto: result 1, result 2']);
  });

  it('of a child comes after the result too', () => {
    const events = [step(1), asked(1), client(2), tools(2), ofChild('clarification', 'open')];
    expect(told(watched(logOf(...events)))).toEqual(['assistant: use 1, use 2']);
    expect(told(watched(logOf(...events, clientResult(2)))).at(-1)).toBe('assistant: asks How deep?');
    const over = ofChild('clarification', 'resolved');
    expect(told(watched(logOf(...events, over, clientResult(2)))).at(-1)).toBe('roboto: result 2');
    const said = ofChild('clarification', 'resolved', { answer: 'very' });
    expect(told(watched(logOf(...events, said, clientResult(2)))).slice(-2)).toEqual([
      'assistant: asks How deep?',
      'user: says very',
    ]);
  });

  it('is lost with its turn', () => {
    const events = logOf(step(1), wants(1), client(2), question(1), tools(2), canceled);
    expect(told(projectTurn('thr_1', events).messages)).toEqual(['assistant: use 1, use 2', 'assistant: error']);
  });
});

describe('an approval beside a client tool', () => {
  it('is in the message that has the calls', () => {
    const guarded = asked(1, '{}', 'test.guarded.pay');
    const events = [step(1), guarded, client(2), approval(1), tools(2)];
    const messages = watched(logOf(...events, resolved('approval_call_1_1', 'approved'), result(1), clientResult(2)));
    expect(told(messages)).toEqual([
      expect.stringMatching(/^assistant: use 1, use 2, asks May this call be made\?/),
      'roboto: result 1, result 2',
    ]);
    expect(contextOf(messages).messages).toMatchObject([
      { role: 'assistant', content: null, tool_calls: [{}, {}] },
      { role: 'tool' },
      { role: 'tool' },
    ]);
  });

  it('of the client’s own tool is too, so that it is found once it may be run; two of them are two blocks', () => {
    const events = [step(1), client(1), client(2), approval(1, CLIENT), approval(2, CLIENT)];
    const open = watched(logOf(...events));
    expect(told(open)).toEqual([expect.stringMatching(/^assistant: use 1, use 2, asks May[^]*, asks May[^]*$/)]);
    expect(open[0]).toMatchObject({
      status: 'completed',
      content: [
        {},
        {},
        { asks: { kind: 'approval', tool_use_id: 'turn_3_call_1_1', run_id, digest: 'd' } },
        { asks: { kind: 'approval', tool_use_id: 'turn_3_call_1_2', await_id: 'approval_call_1_2' } },
      ],
    });
    const approved = [
      resolved('approval_call_1_1', 'approved'),
      resolved('approval_call_1_2', 'approved'),
      tools(1, 2),
    ];
    expect(told(watched(logOf(...events, ...approved, clientResult(1), clientResult(2)))).at(-1)).toBe(
      'roboto: result 1, result 2',
    );
  });

  it('of a child is held; and where there is no client tool each is a message of its own', () => {
    const events = [step(1), asked(1), client(2), tools(2), ofChild('approval', 'open')];
    expect(told(watched(logOf(...events)))).toEqual(['assistant: use 1, use 2']);
    expect(told(watched(logOf(...events, clientResult(2)))).at(-1)).toBe('assistant: asks How deep?');
    expect(told(watched(logOf(step(1), asked(1), approval(1), ofChild('approval', 'open'))))).toEqual([
      'assistant: use 1',
      expect.stringMatching(/^assistant: asks May/),
      'assistant: asks How deep?',
    ]);
  });
});

it('a record of 0.7, which has what is asked beside the blocks, reads as before', () => {
  const asks = { kind: 'clarification' as const, tool_use_id: 'turn_3_call_1_1', run_id, await_id: 'a' };
  const content = [{ content_type: 'text' as const, text: 'Which?' }];
  const old: AgentMessage = { role: 'assistant', content, status: 'completed', created: at, asks };
  const { messages } = projectTurn('thr_1', logOf(step(1), wants(1)));
  const given = projectTurn('thr_1', logOf(step(1), wants(1), answer(1), done('completed'))).messages.slice(1);
  expect(contextOf([...messages, old, ...given]).messages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
});

function failureOf(kind: 'expired') {
  return { kind, message: 'no', issues: [], recovery: 'replan' as const };
}
