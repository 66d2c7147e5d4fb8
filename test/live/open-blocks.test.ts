import { beforeEach, describe, expect, it } from 'vitest';
import type { EventDraft } from '../../contract/events.js';
import { NO_USAGE } from '../../contract/snapshot.js';
import { createOpenBlocks } from '../../live/open-blocks.js';
import type { OpenBlocks } from '../../live/open-blocks.js';
import { live, writtenLog } from '../contract/written-log.js';

const block_id = 'step_1.block_1';
const start = live({ type: 'text_start', block_id, attempt: 1 });
const chunk = (index: number, text: string, attempt = 1) =>
  live({ type: 'text_chunk', block_id, attempt, index, text });
const call = { tool_id: 'a.b.c', tool_call_id: 'call_1_1' };
const output = (index: number, text: string, attempt = 1) =>
  live({ type: 'tool_output_chunk', ...call, block_id: 'call_1_1.output', attempt, index, text });
const input = (index: number, text: string, n = 1) =>
  live({ type: 'tool_input_chunk', block_id: `step_1.input_${n}`, attempt: 1, index, text, name: 'a.b.c' });

let blocks: OpenBlocks;

beforeEach(() => {
  blocks = createOpenBlocks();
});

describe('the open blocks of a run', () => {
  it('are given as their start and one chunk with all their text, which has the index of its last part', () => {
    for (const event of [start, chunk(0, 'Hel'), chunk(1, 'lo'), chunk(4, ' world')])
      expect(blocks.add(event)).toBeDefined();
    expect(blocks.replay()).toEqual([start, { ...chunk(4, 'Hello world') }]);
  });

  it('are given in the order in which they were opened, a block without text by its start alone', () => {
    const thinking = live({ type: 'thinking_start', block_id: 'step_1.block_0', attempt: 1 });
    for (const event of [thinking, start, chunk(0, 'x')]) blocks.add(event);
    expect(blocks.replay()).toEqual([thinking, start, chunk(0, 'x')]);
  });

  it('do not hold what passes by: progress and retries', () => {
    expect(blocks.add(live({ type: 'tool_progress', ...call, message: 'half' }))).toBeDefined();
    expect(blocks.add(live({ type: 'tool_retry', ...call, attempt: 2, reason: 'r' }))).toBeDefined();
    expect(blocks.replay()).toEqual([]);
  });

  it('show a chunk once: one that was seen is dropped', () => {
    blocks.add(chunk(0, 'a'));
    blocks.add(chunk(1, 'b'));
    expect(blocks.add(chunk(1, 'b'))).toBeUndefined();
    expect(blocks.add(chunk(0, 'a'))).toBeUndefined();
    expect(blocks.replay()).toEqual([chunk(1, 'ab')]);
  });

  it('leave the events that they are given as they were', () => {
    const first = chunk(0, 'a');
    blocks.add(first);
    blocks.add(chunk(1, 'b'));
    expect(first).toEqual(chunk(0, 'a'));
  });

  it('of an earlier step are forgotten when another step opens one, also when nobody told of its end', () => {
    blocks.add(chunk(0, 'of the first step'));
    const next = live({
      type: 'text_chunk',
      step_id: 'step_2',
      block_id: 'step_2.block_1',
      attempt: 1,
      index: 0,
      text: 'x',
    });
    blocks.add(next);
    expect(blocks.replay()).toEqual([next]);
  });
});

describe('a chunk that says where it begins', () => {
  const at = (offset: number, text: string, index = offset) =>
    live({ type: 'text_chunk', block_id, attempt: 1, index, offset, text });

  it('is left out where something before it is missing, and so is all after it', () => {
    blocks.add(at(0, 'Hel'));
    expect(blocks.add(at(5, ' world'))).toBeUndefined();
    expect(blocks.add(at(11, '!'))).toBeUndefined();
    expect(blocks.replay()).toEqual([at(0, 'Hel')]);
  });

  it('is left out where it is the first that came, and does not begin the block', () => {
    expect(blocks.add(at(3, 'lo'))).toBeUndefined();
    expect(blocks.replay()).toEqual([]);
  });

  it('is cut where a part of it was told already', () => {
    blocks.add(at(0, 'Hel'));
    expect(blocks.add(at(0, 'Hello', 4))).toEqual(at(3, 'lo', 4));
    expect(blocks.add(at(2, 'lo'))).toBeUndefined();
    expect(blocks.replay()).toEqual([at(0, 'Hello', 4)]);
  });
});

describe('a block is closed', () => {
  it.each<[string, EventDraft]>([
    ['the event that has its whole text', { type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' }],
    ['the end of its step', { type: 'step_completed', step_id: 'step_1', status: 'completed', duration_ms: 1 }],
    ['a retraction that was committed', { type: 'attempt_retracted', step_id: 'step_1', attempt: 1 }],
  ])('by %s, and late deltas of it are dropped', (_what, draft) => {
    blocks.add(start);
    blocks.add(chunk(0, 'Hel'));
    commit(draft);
    expect(blocks.replay()).toEqual([]);
    expect(blocks.add(chunk(1, 'lo'))).toBeUndefined();
    expect(blocks.add(start)).toBeUndefined();
    expect(blocks.replay()).toEqual([]);
  });

  it('by its own end only, not by that of another block, step or call', () => {
    blocks.add(chunk(0, 'Hel'));
    commit({ type: 'thinking_end', step_id: 'step_1', block_id: 'step_1.block_0', attempt: 1, text: '' });
    commit({ type: 'step_completed', step_id: 'step_0', status: 'completed', duration_ms: 1 });
    commit(result('call_1_1'));
    commit({ type: 'usage_recorded', step_id: 'step_1', usage: { model: 'm', ...tokens } });
    expect(blocks.replay()).toEqual([chunk(0, 'Hel')]);
    expect(blocks.add(chunk(1, 'lo'))).toBeDefined();
  });

  it('by the result of its call when it is a tool’s output, and what the tool says later is dropped', () => {
    blocks.add(output(0, 'line 1'));
    commit(result('call_1_2'));
    expect(blocks.replay()).toEqual([output(0, 'line 1')]);
    commit(result('call_1_1'));
    expect(blocks.replay()).toEqual([]);
    expect(blocks.add(output(1, 'line 2'))).toBeUndefined();
    expect(blocks.add(live({ type: 'tool_progress', ...call, message: 'late' }))).toBeUndefined();
  });

  it('by the request when it is a call’s arguments, and late pieces of them are dropped', () => {
    blocks.add(input(0, '{"a":'));
    blocks.add(input(0, '{}', 2));
    blocks.add(chunk(0, 'text of the same step'));
    commit({
      type: 'tool_requested',
      step_id: 'step_1',
      tool_call_id: 'call_1_1',
      name: 'a.b.c',
      arguments: '{"a":1}',
    });
    expect(blocks.replay()).toEqual([chunk(0, 'text of the same step')]);
    expect(blocks.add(input(1, '1}'))).toBeUndefined();
    expect(blocks.replay()).toEqual([chunk(0, 'text of the same step')]);
  });

  it('by the end of the run, whatever it is', () => {
    blocks.add(output(0, 'line 1'));
    commit({ ...ended });
    expect(blocks.replay()).toEqual([]);
    expect(blocks.add(output(1, 'line 2'))).toBeUndefined();
    expect(blocks.size()).toBe(0);
  });

  it('by the answer when it is a summary', () => {
    const summary = live({ type: 'summary_chunk', block_id: 'step_1.summary', attempt: 1, index: 0, text: 'All' });
    blocks.add(summary);
    commit({ type: 'summary_final', step_id: 'step_1', text: 'All in all', block_id: 'step_1.summary', attempt: 1 });
    expect(blocks.replay()).toEqual([]);
  });
});

describe('a retraction', () => {
  const retraction = (attempt: number) => live({ type: 'attempt_retracted', attempt });

  it('removes what attempts up to it showed, and later attempts go on', () => {
    blocks.add(chunk(0, 'dead'));
    expect(blocks.add(retraction(1))).toBeDefined();
    expect(blocks.replay()).toEqual([]);
    expect(blocks.add(chunk(1, 'dead too'))).toBeUndefined();
    expect(blocks.add(chunk(0, 'alive', 2))).toBeDefined();
    expect(blocks.replay()).toEqual([chunk(0, 'alive', 2)]);
  });

  it('is shown once', () => {
    expect(blocks.add(retraction(2))).toBeDefined();
    expect(blocks.add(retraction(2))).toBeUndefined();
    expect(blocks.add(retraction(1))).toBeUndefined();
    expect(blocks.add(retraction(3))).toBeDefined();
  });

  it('comes too late for a step that is over', () => {
    commit({ type: 'step_completed', step_id: 'step_1', status: 'completed', duration_ms: 1 });
    expect(blocks.add(retraction(1))).toBeUndefined();
  });

  it('of a model call does not touch the output of tools, which have attempts of their own', () => {
    blocks.add(output(0, 'kept'));
    blocks.add(retraction(3));
    expect(blocks.replay()).toEqual([output(0, 'kept')]);
    expect(blocks.add(output(1, ' too'))).toBeDefined();
  });

  it('that comes live and is committed later closes nothing of the attempt that won', () => {
    blocks.add(retraction(1));
    blocks.add(chunk(0, 'won', 2));
    commit({ type: 'attempt_retracted', step_id: 'step_1', attempt: 1 });
    expect(blocks.replay()).toEqual([chunk(0, 'won', 2)]);
  });
});

const ended: EventDraft = {
  type: 'run_completed',
  status: 'success',
  phase: 'completed',
  answer: 'x',
  usage: NO_USAGE,
  tree_usage: NO_USAGE,
  duration_ms: 1,
};
const { model_calls: _calls, tool_calls: _tools, ...tokens } = NO_USAGE;

function commit(draft: EventDraft): void {
  for (const event of writtenLog([draft])) blocks.close(event);
}

function result(tool_call_id: string): EventDraft {
  const ids = { step_id: 'step_1', tool_id: 'a.b.c', tool_call_id };
  return { type: 'tool_result', ...ids, status: 'success', name: 'a.b.c', content: 'ok', duration_ms: 1, attempts: 1 };
}
