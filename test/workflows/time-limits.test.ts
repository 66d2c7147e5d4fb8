/** What the property tests and the load hold runs to: `support/time-limits.ts` can fail, and pauses do not count. */
import { expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { endsInTime, workedFor } from '../support/time-limits.js';

const at = (seconds: number, event: object) =>
  ({ run_id: 'run-1', at: new Date(seconds * 1_000).toISOString(), ...event }) as DurableEvent;
const link = { run_id: 'run-1/call_1_1', agent_id: 'test.node', stream_key: 'x' };
const started = at(0, { type: 'run_started' });
const ended = (seconds: number) => at(seconds, { type: 'run_completed' });

it('a run that ends long after its budget is late, and one that waited for people is not', () => {
  const asked = at(5, { type: 'await_approval', await_id: 'a' });
  const answered = at(3_605, { type: 'await_resolved', await_id: 'a' });
  const below = [
    at(3_610, { type: 'child_await_changed', link, await_id: 'b', state: 'open' }),
    at(7_210, { type: 'child_await_changed', link, await_id: 'b', state: 'resolved' }),
  ];
  const log = [started, asked, answered, ...below, ended(7_220)];
  expect(workedFor(log)).toBe(20_000);
  endsInTime(log, { budget_ms: 20_000 });
  expect(() => endsInTime([started, ended(200)], { budget_ms: 20_000 })).toThrow(/did not wait for people/);
  expect(() => endsInTime([started, ended(200)], { budget_ms: 20_000, kills: true })).toThrow();
  endsInTime([started, ended(100)], { budget_ms: 20_000, kills: true });
});
