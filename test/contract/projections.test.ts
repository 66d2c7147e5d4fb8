/** The transcript and the snapshot are projections of the log: here over one that was written by hand. */
import { describe, expect, it } from 'vitest';
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import type { BaseMessage } from '../../contract/messages.js';
import { applyProfile, PROFILES } from '../../contract/profiles.js';
import { addUsage, NO_USAGE, projectSnapshot } from '../../contract/snapshot.js';
import { toolFailure } from '../../contract/tool-failure.js';
import { foldTranscript, projectTranscript } from '../../contract/transcript.js';
import { handle, writtenLog } from './written-log.js';

const read = { step_id: 'step_1', tool_id: 'web.pages.read_web_page', tool_call_id: 'call_1_1' };
const invented = { step_id: 'step_1', tool_call_id: 'call_1_2' };
const usage = { model: 'gpt-5.1', input_tokens: 100, output_tokens: 20, total_tokens: 120 };
const spent = { ...NO_USAGE, model_calls: 2, tool_calls: 1, input_tokens: 300, output_tokens: 50, total_tokens: 350 };

/** A step that thinks, speaks and calls two tools, one of which does not exist; then a step that answers. */
const drafts: EventDraft[] = [
  { type: 'run_started', input: 'How tall is it?' },
  { type: 'run_phase_changed', phase: 'planning', previous_phase: 'prompted' },
  { type: 'step_started', step_id: 'step_1', step_number: 1, title: 'Planning' },
  { type: 'attempt_retracted', step_id: 'step_1', attempt: 1 },
  {
    type: 'thinking_end',
    step_id: 'step_1',
    block_id: 'step_1.block_1',
    attempt: 2,
    text: 'A page would help.',
    provider_meta: { signature: 'abc' },
  },
  { type: 'text_end', step_id: 'step_1', block_id: 'step_1.block_2', attempt: 2, text: 'Let me look.' },
  { type: 'usage_recorded', step_id: 'step_1', usage },
  {
    type: 'tool_requested',
    ...read,
    name: 'web.pages.read_web_page',
    arguments: '{"url":1}',
    provider_meta: { id: 'x' },
  },
  { type: 'tool_requested', ...invented, name: 'guess', arguments: '{}' },
  { type: 'run_phase_changed', phase: 'executing_tools', previous_phase: 'planning' },
  { type: 'tool_scheduled', ...read, timeout_ms: 60_000 },
  {
    type: 'tool_result',
    ...invented,
    status: 'error',
    failure: toolFailure('unavailable', 'There is no tool "guess".'),
    name: 'guess',
    content: '',
    duration_ms: 0,
    attempts: 0,
  },
  { type: 'tool_progress', ...read, message: 'half', fraction: 0.5, live_id: 'call_1_1.progress_1' },
  {
    type: 'tool_result',
    ...read,
    status: 'success',
    name: 'web.pages.read_web_page',
    content: '4,634 m',
    output_ref: { id: 'sha256_1', byte_size: 70_000 },
    trimmed: true,
    duration_ms: 900,
    attempts: 2,
  },
  { type: 'step_completed', step_id: 'step_1', status: 'completed', duration_ms: 2_000 },
  { type: 'run_phase_changed', phase: 'planning', previous_phase: 'executing_tools' },
  { type: 'step_started', step_id: 'step_2', step_number: 2, title: 'Planning' },
  { type: 'text_end', step_id: 'step_2', block_id: 'step_2.block_1', attempt: 1, text: 'It is ' },
  { type: 'text_end', step_id: 'step_2', block_id: 'step_2.block_2', attempt: 1, text: '4,634 m.' },
  {
    type: 'usage_recorded',
    step_id: 'step_2',
    usage: { ...usage, input_tokens: 200, output_tokens: 30, total_tokens: 230 },
  },
  { type: 'summary_final', step_id: 'step_2', text: 'It is 4,634 m.' },
  { type: 'step_completed', step_id: 'step_2', status: 'completed', duration_ms: 1_000 },
  { type: 'run_phase_changed', phase: 'completed', previous_phase: 'planning' },
  {
    type: 'run_completed',
    status: 'success',
    phase: 'completed',
    answer: 'It is 4,634 m.',
    usage: { ...spent, cost_usd: 0.5 },
    tree_usage: spent,
    duration_ms: 22_000,
  },
];
const log = writtenLog(drafts);
const before = (type: DurableEvent['type']) =>
  log.slice(
    0,
    log.findIndex((event) => event.type === type),
  );

describe('the transcript', () => {
  it('has what was said, in order: reasoning, text with its calls, one result for each call, the answer once', () => {
    expect(projectTranscript(log)).toEqual([
      { role: 'user', content: 'How tall is it?' },
      { role: 'reasoning', content: 'A page would help.', provider_meta: { signature: 'abc' } },
      {
        role: 'assistant',
        content: 'Let me look.',
        meta: { step_id: 'step_1' },
        tool_calls: [
          {
            id: 'call_1_1',
            type: 'function',
            function: { name: 'web.pages.read_web_page', arguments: '{"url":1}' },
            provider_meta: { id: 'x' },
          },
          { id: 'call_1_2', type: 'function', function: { name: 'guess', arguments: '{}' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'call_1_2',
        tool_name: 'guess',
        content: 'unavailable: There is no tool "guess".\nCorrect the call and try again.',
        is_error: true,
      },
      {
        role: 'tool',
        tool_call_id: 'call_1_1',
        tool_name: 'web.pages.read_web_page',
        content: '4,634 m',
        output_ref: { id: 'sha256_1', byte_size: 70_000 },
        trimmed: true,
      },
      { role: 'assistant', content: 'It is ', meta: { step_id: 'step_2' } },
      { role: 'assistant', content: '4,634 m.', meta: { step_id: 'step_2' } },
    ]);
  });

  it('says nothing of a failure whose words a profile has hidden', () => {
    const shown = log.flatMap((event) => applyProfile(PROFILES.user_chat, event) ?? []);
    const results = projectTranscript(shown).filter((message) => message.role === 'tool');
    expect(results).toMatchObject([{ tool_call_id: 'call_1_2', content: '', is_error: true }, { content: '' }]);
  });

  it('gives calls of a step that said nothing a message without content', () => {
    const silent = writtenLog([
      { type: 'text_end', step_id: 'step_1', block_id: 'step_1.block_1', attempt: 1, text: 'Before.' },
      { type: 'tool_requested', step_id: 'step_2', tool_call_id: 'call_2_1', name: 'a.b.c', arguments: '{}' },
      { type: 'tool_requested', step_id: 'step_2', tool_call_id: 'call_2_2', name: 'a.b.c', arguments: '{}' },
    ]);
    const [first, second, ...more] = projectTranscript(silent);
    expect(first).not.toHaveProperty('tool_calls');
    expect(second).toMatchObject({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_2_1' }, { id: 'call_2_2' }],
    });
    expect(more).toEqual([]);
  });

  it('keeps a refusal, an interruption and a reprompt as what they are', () => {
    const events = writtenLog([
      { type: 'text_end', step_id: 'step_1', block_id: 'b', attempt: 1, text: '', refusal: 'I will not.' },
      { type: 'text_end', step_id: 'step_2', block_id: 'b', attempt: 1, text: 'Half a sen', interrupted: true },
      { type: 'reprompted', content: 'Go on.', reason: 'goal_not_reached' },
    ]);
    expect(projectTranscript(events)).toEqual([
      { role: 'assistant', content: null, refusal: 'I will not.', meta: { step_id: 'step_1' } },
      { role: 'assistant', content: 'Half a sen', meta: { step_id: 'step_2', interrupted: true } },
      { role: 'user', content: 'Go on.', meta: { hidden: true } },
    ]);
  });

  it('has the answer of a synthesis pass, which no other event holds', () => {
    const text = 'All in all, yes.';
    const events = writtenLog([
      { type: 'summary_final', step_id: 'step_3', text, block_id: 'step_3.summary', attempt: 1 },
    ]);
    expect(projectTranscript(events)).toEqual([{ role: 'assistant', content: text }]);
  });

  it('only grows: a message is final once another kind of event has followed it', () => {
    const messages: BaseMessage[] = [];
    let settled: string[] = [];
    for (const event of log) {
      foldTranscript(messages, event);
      const texts = messages.map((message) => JSON.stringify(message));
      const last = event.type === 'tool_requested' ? -1 : texts.length;
      expect(texts.slice(0, settled.length).slice(0, last)).toEqual(settled.slice(0, last));
      settled = texts;
    }
    expect(messages).toEqual(projectTranscript(log));
  });
});

describe('the snapshot', () => {
  it('of an ended run has its phase, steps, tools, usage and answer', () => {
    expect(projectSnapshot(log)).toEqual({
      run: handle,
      phase: 'completed',
      status: 'success',
      started_at: '2026-03-14T09:26:53.000Z',
      duration_ms: 22_000,
      tail: drafts.length,
      answer: 'It is 4,634 m.',
      usage: { ...spent, cost_usd: 0.5 },
      tree_usage: spent,
      awaits: [],
      children: [],
      steps: [
        {
          step_id: 'step_1',
          step_number: 1,
          title: 'Planning',
          started_at: '2026-03-14T09:26:55.000Z',
          status: 'completed',
          duration_ms: 2_000,
          text: 'Let me look.',
          tools: [
            {
              tool_call_id: 'call_1_1',
              name: 'web.pages.read_web_page',
              tool_id: 'web.pages.read_web_page',
              arguments: '{"url":1}',
              state: 'success',
              duration_ms: 900,
              attempts: 2,
            },
            {
              tool_call_id: 'call_1_2',
              name: 'guess',
              arguments: '{}',
              state: 'error',
              failure_kind: 'unavailable',
              duration_ms: 0,
              attempts: 0,
            },
          ],
        },
        {
          step_id: 'step_2',
          step_number: 2,
          title: 'Planning',
          started_at: '2026-03-14T09:27:09.000Z',
          status: 'completed',
          duration_ms: 1_000,
          text: 'It is 4,634 m.',
          tools: [],
        },
      ],
    });
  });

  it('of a run in flight shows what is open, and counts usage from the events', () => {
    const snapshot = projectSnapshot(before('tool_result'));
    expect(snapshot).toMatchObject({ status: 'running', phase: 'executing_tools', tail: 11 });
    expect(snapshot?.steps[0]?.tools.map((tool) => tool.state)).toEqual(['scheduled', 'requested']);
    expect(snapshot?.usage).toEqual({
      ...NO_USAGE,
      model_calls: 1,
      tool_calls: 1,
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
    });
    expect(snapshot).not.toHaveProperty('answer');
    expect(snapshot?.steps[0]).not.toHaveProperty('status');
  });

  it('adds up, event by event, to what the run itself says at its end', () => {
    const { cost_usd: _cost, ...counted } = { ...spent, cost_usd: 0.5 };
    expect(projectSnapshot(before('run_completed'))?.usage).toEqual(counted);
  });

  it('of a failed and of a canceled run says why, and has no answer', () => {
    const failure = { code: 'model_timeout', message: 'm', debug_message: 'd', retryable: true };
    const ending = { usage: NO_USAGE, tree_usage: NO_USAGE, duration_ms: 1 };
    const failed = projectSnapshot(
      writtenLog([{ type: 'run_completed', status: 'failed', phase: 'failed', failure, ...ending }]),
    );
    const cancellation = { reason: 'deadline' as const };
    const canceled = projectSnapshot(
      writtenLog([{ type: 'run_completed', status: 'canceled', phase: 'canceled', cancellation, ...ending }]),
    );
    expect(failed).toMatchObject({ status: 'failed', failure });
    expect(canceled).toMatchObject({ status: 'canceled', cancellation });
    for (const snapshot of [failed, canceled]) expect(snapshot).not.toHaveProperty('answer');
  });

  it('of a child names its parent, its call and its thread', () => {
    const child = {
      ...handle,
      run_id: 'run_1/call_1_1',
      parent_run_id: 'run_1',
      parent_tool_call_id: 'call_1_1',
      thread_id: 'thread_1',
    };
    expect(projectSnapshot(writtenLog([{ type: 'run_started', input: 'go' }], child))?.run).toEqual(child);
  });

  it('of an empty log is nothing', () => {
    expect(projectSnapshot([])).toBeUndefined();
  });

  it('leaves the log as it was', () => {
    const untouched = JSON.stringify(log);
    projectSnapshot(log);
    projectTranscript(log);
    expect(JSON.stringify(log)).toBe(untouched);
  });
});

describe('adding usage', () => {
  it('knows a cost where either side has one', () => {
    expect(addUsage(spent, spent)).not.toHaveProperty('cost_usd');
    expect(addUsage({ ...spent, cost_usd: 0.25 }, spent).cost_usd).toBe(0.25);
    expect(addUsage({ ...spent, cost_usd: 0.25 }, { ...NO_USAGE, cost_usd: 0.5 })).toEqual({
      ...spent,
      cost_usd: 0.75,
    });
  });
});
