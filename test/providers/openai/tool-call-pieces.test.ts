import { describe, expect, it } from 'vitest';
import type { ToolCallDelta } from '../../../providers/openai/chunk.js';
import { createCallSorter } from '../../../providers/openai/tool-call-pieces.js';

function piece(index: number | undefined, id: string | undefined, name: string | undefined, args = ''): ToolCallDelta {
  return { index, id, function: { name, arguments: args } };
}

/** The calls that the pieces add up to. */
function calls(...pieces: ToolCallDelta[]): string[] {
  const sort = createCallSorter();
  const found: { name: string; text: string }[] = [];
  for (const delta of pieces) {
    const { index, name, arguments_delta } = sort(delta);
    const call = (found[index] ??= { name: '', text: '' });
    call.name += name ?? '';
    call.text += arguments_delta;
  }
  return found.map((call) => `${call.name}(${call.text})`);
}

describe('pieces of tool calls', () => {
  it('are sorted by index, also when they are interleaved', () => {
    expect(
      calls(
        piece(0, 'a', 'f'),
        piece(1, 'b', 'g'),
        piece(1, undefined, undefined, '{"y":'),
        piece(0, undefined, undefined, '{}'),
        piece(1, undefined, undefined, '2}'),
      ),
    ).toEqual(['f({})', 'g({"y":2})']);
  });

  it('without an index belong to the call of their id', () => {
    expect(
      calls(
        piece(undefined, 'a', 'f', '{'),
        piece(undefined, 'b', 'f', '{'),
        piece(undefined, 'a', undefined, '}'),
        piece(undefined, 'b', undefined, ' }'),
      ),
    ).toEqual(['f({})', 'f({ })']);
  });

  it('without an index and an id belong to the last call, until another name comes', () => {
    expect(
      calls(
        piece(undefined, undefined, 'f', '{'),
        piece(undefined, undefined, undefined, '}'),
        piece(undefined, undefined, 'g', '{}'),
      ),
    ).toEqual(['f({})', 'g({})']);
  });

  it('that repeat id and name each time are one call', () => {
    expect(
      calls(piece(0, 'a', 'f', '{"x'), piece(0, 'a', 'f', '":1'), piece(0, 'a', 'f', '}'), piece(0, 'a', 'f', '')),
    ).toEqual(['f({"x":1})']);
  });

  it('with a new id in each piece but no name are one call', () => {
    expect(calls(piece(0, 'a', 'f', '{'), piece(0, 'b', undefined, '}'))).toEqual(['f({})']);
  });

  it('that all have index 0 are told apart by their ids', () => {
    expect(calls(piece(0, 'a', 'f', '{}'), piece(0, 'b', 'f', '{}'))).toEqual(['f({})', 'f({})']);
  });

  it('of whole calls that share index and id are told apart by being whole', () => {
    expect(calls(piece(0, 'same', 'f', '{"x":1}'), piece(0, 'same', 'f', '{"x":2}'))).toEqual([
      'f({"x":1})',
      'f({"x":2})',
    ]);
    expect(calls(piece(undefined, 'same', 'f', '{}'), piece(undefined, 'same', 'g', '{}'))).toEqual(['f({})', 'g({})']);
  });

  it('bring name and id once', () => {
    const sort = createCallSorter();
    expect(sort(piece(0, 'a', undefined))).toEqual({ index: 0, id: 'a', arguments_delta: '' });
    expect(sort(piece(0, 'a', 'f', '{'))).toEqual({ index: 0, name: 'f', arguments_delta: '{' });
    expect(sort(piece(0, 'a', 'f', '}'))).toEqual({ index: 0, arguments_delta: '}' });
  });
});
