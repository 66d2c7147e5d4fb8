/** What a code run printed before its worker was lost, for readers who saw it. */
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../contract/live-events.js';
import { linesOf, tellAll } from '../tell-all.js';

const ids = { run_id: 'r', agent_id: 'a.b', root_run_id: 'r', step_id: 'step_1', tool_call_id: 'call_1_1' };
const tool_id = 'code.python.code_interpreter';

const requested = { type: 'tool_requested', seq: 0, ...ids, tool_id, name: tool_id, arguments: '{"code":"x"}' };
const chunk = (attempt: number, index: number, text: string) => ({
  type: 'tool_output_chunk',
  live_id: `call_1_1.output#${attempt}.${index}`,
  ...ids,
  tool_id,
  block_id: 'call_1_1.output',
  attempt,
  index,
  text,
});
const result = (content: string, attempts: number) => ({
  type: 'tool_result',
  seq: 1,
  ...ids,
  tool_id,
  name: tool_id,
  status: 'success',
  content,
  duration_ms: 1,
  attempts,
});

function output(...events: object[]): string[] {
  const told = linesOf(tellAll('event_contract', [requested, ...events] as StreamEvent[]));
  return told.flatMap(({ data }) => (data['type'] === 'hot_code_output' ? [data['content'] as string] : []));
}

describe('output of a dead attempt', () => {
  it('is followed by that of the next one, after a break', () => {
    expect(output(chunk(1, 0, 'dead'), chunk(2, 0, 'alive'), result('alive[end]', 2))).toEqual([
      'dead',
      '\n\n',
      'alive',
      '[end]',
    ]);
  });

  it('is replaced by the result where nothing was heard of the next one', () => {
    expect(output(chunk(1, 0, 'dead'), result('alive', 2))).toEqual(['dead', '\n\n', 'alive']);
  });

  it('is gone on with where the next one printed the same', () => {
    expect(output(chunk(1, 0, 'same'), result('same, and more', 2))).toEqual(['same', ', and more']);
  });

  it('is not there for a late reader', () => {
    expect(output(result('alive', 2))).toEqual(['alive']);
  });
});

it('of the attempt that counts is not repeated, whatever the result says', () => {
  expect(output(chunk(1, 0, 'printed'), result('something else', 1))).toEqual(['printed']);
});
