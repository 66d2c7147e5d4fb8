import { describe, expect, it } from 'vitest';
import type { BaseMessage } from '../../../contract/messages.js';
import type { ModelRequest } from '../../../contract/model-provider.js';
import { Script, scripted, scriptFromInput } from '../../../providers/index.js';
import { countModelCalls } from '../../../providers/scripted/pick-turn.js';
import { assemble, failureOf, modelRequest, NEVER, partsFrom, tool } from '../model-request.js';

const user = (content: string): BaseMessage => ({ role: 'user', content });
const said = (content: string | null, step: string): BaseMessage => ({
  role: 'assistant',
  content,
  meta: { step_id: step },
});
const result = (content: string): BaseMessage => ({ role: 'tool', tool_call_id: 'call', tool_name: 'a.b.c', content });

/** The request after `calls` model calls that each asked for one tool. */
function after(calls: number, change: Partial<ModelRequest> = {}): ModelRequest {
  const steps = Array.from({ length: calls }, (_, n) => [said(null, `step_${n + 1}`), result('ok')]);
  return modelRequest({ messages: [user('Go'), ...steps.flat()], tools: [tool('a.b.c')], ...change });
}

async function textAt(script: Script, request: ModelRequest): Promise<string> {
  const { messages } = assemble(await partsFrom(scripted(script), request));
  return messages.map((message) => (message.role === 'assistant' ? message.content : '')).join('');
}

describe('a scripted turn', () => {
  it('streams thinking, text and tool calls, and ends with usage by length', async () => {
    const provider = scripted({
      turns: [
        {
          thinking: 'I should look.',
          text: ['Look', 'ing'],
          tool_calls: [
            { tool: 'a.b.c', args: { query: 'a long enough question' } },
            { tool: 'made up', args: '{"x": ' },
            { tool: 'a.b.d' },
          ],
        },
      ],
    });
    const parts = await partsFrom(provider, modelRequest());
    expect(parts.slice(0, 5)).toEqual([
      { type: 'reasoning', delta: 'I' },
      { type: 'reasoning', delta: ' should' },
      { type: 'reasoning', delta: ' look.' },
      { type: 'text', delta: 'Look' },
      { type: 'text', delta: 'ing' },
    ]);
    expect(assemble(parts)).toEqual({
      messages: [
        { role: 'reasoning', content: 'I should look.', meta: { block: 1 } },
        {
          role: 'assistant',
          content: 'Looking',
          meta: { block: 2 },
          tool_calls: [
            { id: '', type: 'function', function: { name: 'a.b.c', arguments: '{"query":"a long enough question"}' } },
            { id: '', type: 'function', function: { name: 'made up', arguments: '{"x": ' } },
            { id: '', type: 'function', function: { name: 'a.b.d', arguments: '{}' } },
          ],
        },
      ],
      usage: { model: 'gpt-4o', input_tokens: 4, output_tokens: 20, total_tokens: 24 },
      stop_reason: 'tool_use',
    });
  });

  it('loses no white space when its text is split', async () => {
    const text = '  Two\n\nlines,  with gaps. \n';
    expect(await textAt({ turns: [{ text }] }, modelRequest())).toBe(text);
  });

  it('refuses, and reports the usage and the stop reason that it is given', async () => {
    const usage = { input_tokens: 7, output_tokens: 5 };
    const provider = scripted({
      turns: [
        { refusal: 'No.', usage },
        { text: 'cut', stop_reason: 'max_tokens' },
      ],
    });
    expect(assemble(await partsFrom(provider, modelRequest()))).toMatchObject({
      messages: [{ role: 'assistant', content: null, refusal: 'No.' }],
      usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 },
      stop_reason: 'refusal',
    });
    expect(assemble(await partsFrom(provider, after(1))).stop_reason).toBe('max_tokens');
  });

  it('fails after as many deltas as it says, and by attempt', async () => {
    const provider = scripted({
      turns: [
        {
          text: ['a', 'b', 'c'],
          attempts: [
            { fail: { code: 'model_stream_cut', after_deltas: 2 } },
            { fail: { code: 'model_rate_limited', retry_after_ms: 9 } },
            {},
          ],
        },
      ],
    });
    const first = await failureOf(provider, modelRequest({ attempt: 1 }));
    expect(first.error.code).toBe('model_stream_cut');
    expect(first.parts).toHaveLength(2);
    const second = await failureOf(provider, modelRequest({ attempt: 2 }));
    expect(second.error).toMatchObject({ code: 'model_rate_limited', retry_after_ms: 9, provider: 'scripted' });
    expect(second.parts).toEqual([]);
    for (const attempt of [3, 4]) {
      const { messages } = assemble(await partsFrom(provider, modelRequest({ attempt })));
      expect(messages).toMatchObject([{ content: 'abc' }]);
    }
  });

  it('hangs after its deltas until it is aborted, and then ends quietly', async () => {
    const provider = scripted({ turns: [{ text: ['a', 'b'], hang: true }] });
    const parts = await partsFrom(provider, modelRequest(), AbortSignal.timeout(30));
    expect(parts).toEqual([
      { type: 'text', delta: 'a' },
      { type: 'text', delta: 'b' },
    ]);
  });

  it('waits between its deltas, and an abort cuts the wait short', async () => {
    const provider = scripted({ turns: [{ text: ['a', 'b'], delay_ms: 60_000 }] });
    expect(await partsFrom(provider, modelRequest(), AbortSignal.timeout(30))).toEqual([{ type: 'text', delta: 'a' }]);
    const started = performance.now();
    await partsFrom(scripted({ turns: [{ text: ['a', 'b', 'c'], delay_ms: 20 }] }), modelRequest());
    expect(performance.now() - started).toBeGreaterThan(30);
  });
});

describe('the turn to play', () => {
  it('is read off the request alone, so that any process plays the same', async () => {
    const script: Script = { turns: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] };
    for (const [calls, text] of ['one', 'two', 'three'].entries())
      expect(await textAt(script, after(calls))).toBe(text);
    expect(await textAt(script, after(1))).toBe('two');
  });

  it.each<[string, BaseMessage[], number]>([
    ['nothing said', [user('a')], 0],
    [
      'reasoning, text and calls of one step',
      [{ role: 'reasoning', content: 'r' }, said('a', 's1'), { role: 'reasoning', content: 'r' }, said(null, 's1')],
      1,
    ],
    ['two turns of a conversation', [user('a'), said('b', 's1'), user('c'), said('d', 's1')], 2],
    [
      'two batches of results',
      [user('a'), said(null, 's1'), result('x'), result('y'), said(null, 's2'), result('z')],
      2,
    ],
    ['an answer and a synthesis after it', [user('a'), said('b', 's1'), said('c', 's2')], 2],
    ['a call that only thought', [user('a'), { role: 'reasoning', content: 'r' }, user('b')], 1],
  ])('counts %s as that many calls', (_, messages, calls) => {
    expect(countModelCalls(messages)).toBe(calls);
  });

  it('is the script’s synthesis, whatever the count, when tools are not allowed', async () => {
    const script: Script = { turns: [{ tool_calls: [{ tool: 'a.b.c' }] }], synthesis: { text: 'All in all' } };
    for (const calls of [0, 1, 5])
      expect(await textAt(script, after(calls, { tool_choice: 'none' }))).toBe('All in all');
  });

  it('can have a text of its own for when tools are not allowed', async () => {
    const script: Script = { turns: [{ text: 'Looking', tool_calls: [{ tool: 'a.b.c' }], synthesis: 'Enough' }] };
    expect(await textAt(script, after(0))).toBe('Looking');
    const parts = await partsFrom(scripted(script), after(0, { tool_choice: 'none' }));
    expect(assemble(parts)).toMatchObject({ messages: [{ content: 'Enough' }], stop_reason: 'end_turn' });
    expect(parts.some((part) => part.type === 'tool_call')).toBe(false);
  });
});

describe('a call that the script does not expect', () => {
  it.each<[string, Script, ModelRequest, RegExp]>([
    [
      'one call too many',
      { turns: [{ text: 'x' }] },
      after(1),
      /call 2 was not expected: the script has only 1 call\b.*"Go".*1 new tool results/,
    ],
    [
      'another user message',
      { turns: [{ expect: { last_user: 'weather' } }] },
      after(0),
      /turn 1 expects .*"weather".*"Go"/,
    ],
    [
      'another user message, by expression',
      { turns: [{ expect: { last_user: '/^go!$/i' } }] },
      after(0),
      /\/\^go!\$\/i.*"Go"/,
    ],
    [
      'fewer results',
      { turns: [{}, { expect: { tool_results: 2 } }] },
      after(1),
      /turn 2 expects 2 tool results.*1 new tool results/,
    ],
    [
      'a tool that is missing',
      { turns: [{ expect: { tools: ['a.b.c', 'x.y.z'] } }] },
      after(0),
      /expects the tools x\.y\.z\..*tools a\.b\.c/,
    ],
    [
      'no tools where it calls one',
      { turns: [{ tool_calls: [{ tool: 'a.b.c' }] }] },
      after(0, { tool_choice: 'none' }),
      /needs a synthesis/,
    ],
  ])('fails and says what was expected and what came: %s', async (_, script, request, message) => {
    const { error, parts } = await failureOf(scripted(script), request);
    expect(error.code).toBe('script_mismatch');
    expect(error.message).toMatch(message);
    expect(error.message).toContain('run_1 (step_1)');
    expect(parts).toEqual([]);
  });

  it('passes when every expectation is met', async () => {
    const expected = { last_user: '/^go$/i', tool_results: 1, tools: ['a.b.c'] };
    expect(await textAt({ turns: [{}, { text: 'yes', expect: expected }] }, after(1))).toBe('yes');
  });
});

describe('a script', () => {
  it('that is not valid is refused with every mistake in it', () => {
    const bad = { turns: [{ txt: 'x' }, { fail: { code: 'nonsense' } }], more: 1 } as unknown as Script;
    expect(() => scripted(bad)).toThrow(/txt.*turns\.1\.fail\.code.*more/s);
  });

  it('is plain JSON', () => {
    const script: Script = {
      turns: [{ text: ['a'], tool_calls: [{ tool: 'x', args: [1, null] }] }],
      synthesis: { text: 'b' },
    };
    expect(Script.parse(JSON.parse(JSON.stringify(script)))).toEqual(script);
  });

  it('can be a function of the request', async () => {
    const provider = scripted((request) => ({ turns: [{ text: `for ${request.run_id}` }] }));
    expect(assemble(await partsFrom(provider, modelRequest())).messages).toMatchObject([{ content: 'for run_1' }]);
    expect(() => provider.assertFinished()).toThrow(/function/);
  });

  it('can travel in the run’s input', async () => {
    const input = JSON.stringify({ turns: [{ text: 'one' }, { text: 'two' }] });
    const provider = scripted(scriptFromInput);
    const messages = [{ role: 'system' as const, content: 'x' }, user(input), said(null, 's1'), result('r')];
    expect(assemble(await partsFrom(provider, modelRequest({ messages }))).messages).toMatchObject([
      { content: 'two' },
    ]);
    const plain = await failureOf(provider, modelRequest({ messages: [user('hello')] }));
    expect(plain.error).toMatchObject({ code: 'script_mismatch', message: expect.stringContaining('"hello"') });
    const wrong = await failureOf(provider, modelRequest({ messages: [user('{"turns":1}')] }));
    expect(wrong.error).toMatchObject({ code: 'script_mismatch', message: expect.stringContaining('turns') });
  });

  it('with turns that were never played is reported', async () => {
    const provider = scripted({ turns: [{ text: 'a' }, { text: 'b' }, { text: 'c' }], synthesis: { text: 'd' } });
    await partsFrom(provider, after(1));
    expect(() => provider.assertFinished()).toThrow(/Of 3 turns.*turn 1, turn 3/);
    await partsFrom(provider, after(0));
    await partsFrom(provider, after(2));
    expect(() => provider.assertFinished()).not.toThrow();
  });

  it('remembers the last hundred requests as they were', async () => {
    const provider = scripted({ turns: [{ text: 'a' }] });
    const messages = [user('Go')];
    for (let n = 0; n < 101; n++)
      for await (const _ of provider.stream(modelRequest({ messages, run_id: `run_${n}` }), NEVER));
    messages.push(user('later'));
    expect(provider.calls).toHaveLength(100);
    expect(provider.calls[0]?.run_id).toBe('run_1');
    expect(provider.calls.at(-1)?.messages).toHaveLength(1);
  });
});
