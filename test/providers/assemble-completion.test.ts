import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChatInvokeCompletion } from '../../contract/completion.js';
import type { ModelStreamPart } from '../../contract/model-provider.js';
import { createAssembler, type BlockDelta } from '../../providers/assemble-completion.js';
import { assemble } from './model-request.js';

const text = (delta: string): ModelStreamPart => ({ type: 'text', delta });
const reasoning = (delta: string): ModelStreamPart => ({ type: 'reasoning', delta });
const refusal = (delta: string): ModelStreamPart => ({ type: 'refusal', delta });
const call = (index: number, name?: string, arguments_delta?: string): ModelStreamPart => ({
  type: 'tool_call',
  index,
  ...(name === undefined ? {} : { name }),
  ...(arguments_delta === undefined ? {} : { arguments_delta }),
});
const usage = { model: 'm', input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const finish: ModelStreamPart = { type: 'finish', stop_reason: 'end_turn', usage, provider_meta: { v: 1 } };

describe('the assembler', () => {
  it('makes one message of each stretch of text and reasoning, in order, with the number of its block', () => {
    const parts = [reasoning('Let '), reasoning('me'), text('Hel'), text('lo'), reasoning('hm'), text('!'), finish];
    expect(assemble(parts)).toEqual({
      messages: [
        { role: 'reasoning', content: 'Let me', meta: { block: 1 } },
        { role: 'assistant', content: 'Hello', meta: { block: 2 } },
        { role: 'reasoning', content: 'hm', meta: { block: 3 } },
        { role: 'assistant', content: '!', meta: { block: 4 } },
      ],
      usage,
      stop_reason: 'end_turn',
      provider_meta: { v: 1 },
    });
  });

  it('tells which block a delta belongs to, whether it opens it, and its index in it', () => {
    const assembler = createAssembler();
    const told = [reasoning('a'), text('b'), text(''), text('c'), call(0, 'x'), text('d'), finish].map((part) =>
      assembler.add(part),
    );
    expect(told).toEqual([
      { kind: 'thinking', n: 1, opened: true, index: 0 },
      { kind: 'text', n: 2, opened: true, index: 0 },
      undefined,
      { kind: 'text', n: 2, opened: false, index: 1 },
      undefined,
      { kind: 'text', n: 3, opened: true, index: 0 },
      undefined,
    ]);
  });

  it('puts the tool calls into the last assistant message, without ids, arguments exactly as written', () => {
    const parts: ModelStreamPart[] = [
      text('Looking.'),
      { type: 'tool_call', index: 0, name: 'a.b.c', provider_meta: { openai: { id: 'v1' } } },
      call(1, 'a.b.d'),
      call(0, undefined, '{"x": '),
      call(1, undefined, '{oops'),
      call(0, undefined, '1}'),
      { ...finish, stop_reason: 'tool_use' } as ModelStreamPart,
    ];
    expect(assemble(parts).messages).toEqual([
      {
        role: 'assistant',
        content: 'Looking.',
        meta: { block: 1 },
        tool_calls: [
          {
            id: '',
            type: 'function',
            function: { name: 'a.b.c', arguments: '{"x": 1}' },
            provider_meta: { openai: { id: 'v1' } },
          },
          { id: '', type: 'function', function: { name: 'a.b.d', arguments: '{oops' } },
        ],
      },
    ]);
  });

  it('puts tool calls without text, or after reasoning, into a message without content', () => {
    const parts = [text('One.'), reasoning('now call'), call(0, 'a.b.c', '{}'), finish];
    expect(assemble(parts).messages).toEqual([
      { role: 'assistant', content: 'One.', meta: { block: 1 } },
      { role: 'reasoning', content: 'now call', meta: { block: 2 } },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: '', type: 'function', function: { name: 'a.b.c', arguments: '{}' } }],
      },
    ]);
  });

  it('leaves incomplete tool calls out of a completion that was interrupted', () => {
    const parts = [text('Half'), call(0, 'a.b.c', '{"x":1}'), call(1, 'a.b.d', '{"y":'), call(2, 'a.b.e')];
    const completion = assemble(parts);
    expect(completion.stop_reason).toBeNull();
    expect(completion.usage).toBeNull();
    expect(completion.messages).toEqual([
      {
        role: 'assistant',
        content: 'Half',
        meta: { block: 1 },
        tool_calls: [{ id: '', type: 'function', function: { name: 'a.b.c', arguments: '{"x":1}' } }],
      },
    ]);
  });

  it('keeps a refusal in a message of its own, without content', () => {
    expect(assemble([text('Well'), refusal('I '), refusal('won’t'), finish]).messages).toEqual([
      { role: 'assistant', content: 'Well', meta: { block: 1 } },
      { role: 'assistant', content: null, refusal: 'I won’t', meta: { block: 2 } },
    ]);
    expect(assemble([refusal('No.'), finish]).messages).toEqual([
      { role: 'assistant', content: null, refusal: 'No.', meta: { block: 1 } },
    ]);
  });

  it('gives each stretch of reasoning its own signature, and keeps a signature without text', () => {
    const parts: ModelStreamPart[] = [
      reasoning('one'),
      { type: 'reasoning_meta', provider_meta: { signature: 's1' } },
      reasoning('two'),
      { type: 'reasoning_meta', provider_meta: { signature: 's2' } },
      { type: 'reasoning_meta', provider_meta: { redacted: 's3' } },
      text('done'),
      finish,
    ];
    expect(assemble(parts).messages).toEqual([
      { role: 'reasoning', content: 'one', meta: { block: 1 }, provider_meta: { signature: 's1' } },
      { role: 'reasoning', content: 'two', meta: { block: 2 }, provider_meta: { signature: 's2' } },
      { role: 'reasoning', content: '', meta: { block: 3 }, provider_meta: { redacted: 's3' } },
      { role: 'assistant', content: 'done', meta: { block: 4 } },
    ]);
  });

  it('knows whether anything has arrived', () => {
    const assembler = createAssembler();
    for (const part of [text(''), reasoning(''), refusal(''), finish]) assembler.add(part);
    expect(assembler.isEmpty()).toBe(true);
    expect(assembler.completion().messages).toEqual([]);
    for (const part of [text('x'), reasoning('x'), refusal('x'), call(0, 'x')]) {
      const other = createAssembler();
      other.add(part);
      expect(other.isEmpty()).toBe(false);
    }
  });

  it('gives every message exactly the text that its deltas said, at any point of any stream', () => {
    const piece = fc.oneof(
      fc.record({ type: fc.constantFrom('text' as const, 'reasoning' as const), delta: fc.string({ maxLength: 3 }) }),
      fc.record({ type: fc.constant('refusal' as const), delta: fc.string({ maxLength: 3 }) }),
      fc.record({ type: fc.constant('reasoning_meta' as const), provider_meta: fc.constant({ s: 1 }) }),
      fc.record({ type: fc.constant('tool_call' as const), index: fc.nat(2), name: fc.constant('a.b.c') }),
    );
    fc.assert(
      fc.property(fc.array(piece), (parts) => {
        const assembler = createAssembler();
        const said = new Map<number, string>();
        const next = new Map<number, number>();
        for (const part of parts) {
          const told: BlockDelta | undefined = assembler.add(part);
          if (told === undefined || !('delta' in part)) continue;
          expect(told.index).toBe(next.get(told.n) ?? 0);
          expect(told.opened).toBe(told.index === 0);
          next.set(told.n, told.index + 1);
          said.set(told.n, (said.get(told.n) ?? '') + part.delta);
        }
        const { messages } = ChatInvokeCompletion.parse(assembler.completion());
        const blocks = messages.map((message) => (message.meta as { block: number }).block);
        expect(blocks).toEqual(blocks.map((_, index) => index + 1));
        for (const message of messages) {
          const words = message.role === 'assistant' ? (message.content ?? message.refusal) : message.content;
          expect(words ?? '').toBe(said.get((message.meta as { block: number }).block) ?? '');
        }
      }),
    );
  });
});
