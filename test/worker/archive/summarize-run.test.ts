import { expect, it } from 'vitest';
import { summarizeRun } from '../../../worker/archive/summarize-run.js';

it.each([
  ['one', { root_run_id: 'one' }],
  ['one/call_1_1', { root_run_id: 'one', parent_run_id: 'one' }],
  ['one/call_1_1/call_2_1', { root_run_id: 'one', parent_run_id: 'one/call_1_1' }],
  ['thr_1/turn_2', { root_run_id: 'thr_1/turn_2', thread_id: 'thr_1' }],
  ['thr_1/turn_2/call_1_1', { root_run_id: 'thr_1/turn_2', parent_run_id: 'thr_1/turn_2', thread_id: 'thr_1' }],
])('a run that was killed before it could write, %s, keeps its place in tree and thread', (run_id, place) => {
  const at = '2026-03-01T10:00:00.000Z';
  const known = { run_id, agent_id: 'test.agent', engine_status: 'TERMINATED', started_at: at, ended_at: at };
  const { root_run_id, parent_run_id, thread_id, status } = summarizeRun(known, []);
  expect({ root_run_id, parent_run_id, thread_id }).toEqual({
    parent_run_id: undefined,
    thread_id: undefined,
    ...place,
  });
  expect(status).toBe('terminated');
});
