/** The log of a turn's run, written by hand: the third turn of thr_1. */
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import { projectTurn } from '../../contract/thread-projection.js';

export const at = '2026-03-01T10:00:00.000Z';
const usage = { model_calls: 1, tool_calls: 0, input_tokens: 1, output_tokens: 1, total_tokens: 2 };
export const ending = { usage, tree_usage: usage, duration_ms: 5 };

export function logOf(...drafts: EventDraft[]): DurableEvent[] {
  const handle = { run_id: 'thr_1/turn_3', agent_id: 'test.agent', root_run_id: 'thr_1/turn_3', thread_id: 'thr_1' };
  return drafts.map(
    (draft, seq) => ({ seq, event_id: `thr_1/turn_3:${seq}`, at, ...handle, ...draft }) as DurableEvent,
  );
}

export const step = (n: number): EventDraft => ({
  type: 'step_started',
  step_id: `step_${n}`,
  step_number: n,
  title: '',
});
export const said = (text: string, more: object = {}): EventDraft => ({
  type: 'text_end',
  step_id: 'step_1',
  block_id: 'step_1.block_1',
  attempt: 1,
  text,
  ...more,
});
export const asked = (n: number, args = '{"a":1}', name = 'test.tools.echo'): EventDraft => ({
  type: 'tool_requested',
  step_id: 'step_1',
  tool_call_id: `call_1_${n}`,
  name,
  arguments: args,
});
export const result = (n: number, more: object = {}): EventDraft => ({
  type: 'tool_result',
  step_id: 'step_1',
  tool_call_id: `call_1_${n}`,
  status: 'success',
  name: 'test.tools.echo',
  content: 'x',
  duration_ms: 3,
  attempts: 1,
  ...more,
});
export const done = (status: 'completed' | 'error'): EventDraft => ({
  type: 'step_completed',
  step_id: 'step_1',
  status,
  duration_ms: 4,
});
export const canceled: EventDraft = {
  type: 'run_completed',
  status: 'canceled',
  phase: 'canceled',
  cancellation: { reason: 'user_requested' },
  ...ending,
};
export const shapes = (events: DurableEvent[]) =>
  projectTurn('thr_1', events).messages.map(({ role, status, content }) => [
    role,
    status,
    ...content.map((block) => block.content_type),
  ]);
