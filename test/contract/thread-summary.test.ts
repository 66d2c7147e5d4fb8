/** Threads in words that belong to no wire format. */
import { expect, it } from 'vitest';
import { AgentThreadStatus } from '../../contract/thread-records.js';
import { threadStatus } from '../../contract/thread-status.js';
import { summarizeThread, ThreadSummary } from '../../contract/thread-summary.js';
import type { ThreadStatus } from '../../contract/thread-summary.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';

it('says of every status whose turn it is', () => {
  const words = AgentThreadStatus.options.map((status) => [status, threadStatus({ status })]);
  expect(Object.fromEntries(words)).toEqual({
    not_started: 'not_started',
    user_turn: 'waiting_for_you',
    roboto_turn: 'working',
    client_tool_turn: 'waiting_for_tools',
    goals_failed: 'goals_failed',
  });
});

it('a turn that asks, or wants an approval, is not at work', () => {
  const pauses = [{ run_id: 't/turn_1', await_id: 'a', kind: 'approval' as const }];
  expect(threadStatus({ status: 'roboto_turn', pauses })).toBe('waiting_for_answer');
  expect(threadStatus({ status: 'roboto_turn', pauses: [] })).toBe('working');
  expect(threadStatus({ status: 'user_turn', pauses })).toBe('waiting_for_answer');
  expect(threadStatus({ status: 'user_turn', pauses: [] })).toBe('waiting_for_you');
  expect(threadStatus({ status: 'goals_failed', pauses })).toBe('goals_failed');
});

it('a summary leaves out what is not known', () => {
  const record = { thread_id: 't', org_id: '', created: '2026-01-31T12:00:00.000Z', created_by: '' };
  const header = {
    record: { ...record, visibility: 'private' },
    agent_id: 'demo.assistant',
    status: 'not_started',
    title: null,
    turns: 0,
    pauses: [],
  } as unknown as ThreadHeader;
  const bare = {
    thread_id: 't',
    agent_id: 'demo.assistant',
    status: 'not_started' satisfies ThreadStatus,
    turns: 0,
    visibility: 'private',
    created_at: '2026-01-31T12:00:00.000Z',
  };
  expect(summarizeThread(header)).toEqual(bare);
  const full = {
    ...header,
    record: { ...header.record, created_by: 'ann' },
    title: 'Trips',
    turn: { run_id: 't/turn_1' },
  };
  const told = summarizeThread(full);
  expect(told).toEqual({ ...bare, created_by: 'ann', title: 'Trips', open_run_id: 't/turn_1' });
  expect(ThreadSummary.parse(told)).toEqual(told);
});
