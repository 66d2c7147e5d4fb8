/** Messages that a thread begins with: which blocks are taken, and what models read of them. */
import { describe, expect, it } from 'vitest';
import { contextOf } from '../../contract/thread-context.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { checkSendMessage, checkThreadRequest } from '../../contract/thread-request.js';
import { at } from './turn-log.js';

const use = { tool_name: 'client_look', tool_use_id: 'toolu_1', input: { at: 'Glarus' } };
const given = { tool_name: 'client_look', tool_use_id: 'toolu_1', runtime_ms: 3, status: 'success' };
const last = { role: 'user', content: [{ text: 'Go on.' }] };
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const user = (...content: object[]) => ({ role: 'user', content });

const seeded = (...messages: unknown[]) =>
  checkThreadRequest({ agent_id: 'a.b', messages: [...messages, last] }).messages.slice(0, -1);

/** As the thread stores them. */
const stored = (...messages: unknown[]): AgentMessage[] =>
  seeded(...messages).map((message) => ({ ...message, status: 'completed', created: at }));

describe('a block', () => {
  it('of each kind is taken, with its type or without', () => {
    const error = { error_message: 'no', error_code: null };
    const [message] = seeded(assistant({ text: 'hm' }, use, { ...given, raw_response: { seen: 1 } }, error));
    expect(message).toEqual(
      assistant(
        { content_type: 'text', text: 'hm' },
        { content_type: 'tool_use', ...use, raw_request: null },
        {
          content_type: 'tool_result',
          ...given,
          raw_response: { seen: 1 },
          told: { name: 'client.declared.client_look' },
        },
        { content_type: 'error', ...error },
      ),
    );
    // Each edge checks it, and the next one takes it for the same.
    expect(seeded(message)).toEqual([message]);
  });

  it('of a newer client has what the tool gave in another field', () => {
    const [message] = seeded(user({ ...given, payload: [1, 2] }, { ...given, payload: { a: 1 }, answered_by: 'x' }));
    expect(message?.content).toMatchObject([{ raw_response: { result: [1, 2] } }, { raw_response: { a: 1 } }]);
  });

  it('brings no signatures of vendors along, and no pictures', () => {
    const raw_request = { name: 'test.tools.echo', arguments: '{"a":1}', provider_meta: { gemini: 'signed' } };
    const image = { type: 'image_url', image_url: { url: 'artefact:art_1' } };
    const [message] = seeded(assistant({ ...use, raw_request }, { ...given, raw_response: { result: [image] } }));
    expect(JSON.stringify(message)).not.toContain('signed');
    expect(contextOf(stored(message)).messages[1]).toMatchObject({ role: 'tool', content: JSON.stringify([image]) });
    expect(seeded(message)).toEqual([message]);
  });

  it.each([
    ['of no kind', assistant({ colour: 'red' }), /messages\.0: must be a text, or .*"tool_use_id"/],
    ['without an id', assistant({ tool_name: 'x' }), /messages\.0: must be/],
    ['with an empty text', user({ text: '' }), /messages\.0\.content\.0\.text: must not be empty/],
    ['with an empty id', assistant({ ...use, tool_use_id: '' }), /messages\.0\.content\.0\.tool_use_id: must not/],
    ['in a message of results', { role: 'roboto', content: [given] }, /messages\.0: must be/],
    ['in no message', { role: 'user', content: [] }, /messages\.0\.content/],
    ['of a type that is another', user({ content_type: 'tool_use', text: 'x' }), /messages\.0: must be/],
  ])('%s is refused', (_what, message, why) => {
    expect(() => seeded(message)).toThrow(why);
  });

  it('is within the bounds of all that is said', () => {
    expect(() => seeded(user({ ...given, raw_response: { x: 'x'.repeat(1_100_000) } }))).toThrow(/bytes/);
  });

  it('that is no text is neither sent, nor all that a turn begins with', () => {
    expect(() => checkSendMessage({ message: assistant(use) })).toThrow(/message/);
    expect(() => checkSendMessage({ message: user({ ...given }) })).toThrow(/message/);
    const request = { agent_id: 'a.b', messages: [assistant(use), user(given)] };
    expect(() => checkThreadRequest(request)).toThrow(/must hold a text/);
  });
});

describe('models read', () => {
  const call = { id: 'toolu_1', function: { name: 'client.declared.client_look', arguments: '{"at":"Glarus"}' } };

  it('a call with its result, wherever that is; one without is lost', () => {
    const result = { ...given, raw_response: { seen: 'a hill' } };
    const closed = { role: 'tool', tool_call_id: 'toolu_1', content: '{"seen":"a hill"}' };
    for (const messages of [
      [assistant({ text: 'Hm.' }, use), user(result, { text: 'So?' })],
      [assistant({ text: 'Hm.' }, use, result), user({ text: 'So?' })],
      [assistant({ text: 'Hm.' }, use), user(result), user({ text: 'So?' })],
    ])
      expect(contextOf(stored(...messages)).messages).toMatchObject([
        { role: 'assistant', content: 'Hm.', tool_calls: [call] },
        closed,
        { role: 'user', content: 'So?' },
      ]);
    expect(contextOf(stored(assistant(use), user({ text: 'So?' }))).messages).toMatchObject([
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'toolu_1', is_error: true },
      { role: 'user' },
    ]);
  });

  it('no result that nobody asked for, and none twice', () => {
    const result = { ...given, raw_response: { result: 'x' } };
    const { messages } = contextOf(stored(user(result, { text: 'hi' }), assistant(use), user(result), user(result)));
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('a blank line between the texts of a message, and nothing in threads of before', () => {
    const messages = stored(user({ text: 'One.' }, { text: 'Two.' }), assistant({ text: 'A.' }, use, { text: 'B.' }));
    const texts = (between?: string) => contextOf(messages, undefined, between).messages.map(({ content }) => content);
    expect(texts()).toEqual(['One.\n\nTwo.', 'A.\n\nB.']);
    expect(texts('')).toEqual(['One.Two.', 'A.B.']);
  });
});
