/** Runs for the archive, made up. */
import type { ArchivedRun } from '../../../store/archive/archived-run.js';

export type Given = Omit<ArchivedRun, 'tail'>;

export function runOf(run_id: string, more: Partial<Given> = {}): Given {
  return {
    run_id,
    agent_id: 'demo.assistant',
    root_run_id: run_id,
    org_id: 'acme',
    created_by: 'ann',
    status: 'success',
    phase: 'completed',
    started_at: '2026-01-02T03:04:05.678Z',
    ended_at: '2026-01-02T03:05:00.000Z',
    steps: 2,
    tool_calls: 1,
    input_tokens: 100,
    output_tokens: 50,
    cost_usd: 0.25,
    model: 'gpt-5-mini',
    input: 'What is the weather?',
    answer: 'It rains.',
    metadata: { channel: 'web' },
    tools: [{ tool_id: 'web.search.search', count: 1, failures: 0 }],
    ...more,
  };
}

export function eventsOf(runId: string, count = 3, text = 'some text'): string[] {
  return Array.from({ length: count }, (_, seq) =>
    JSON.stringify({ type: 'text_end', seq, event_id: `${runId}:${seq}`, run_id: runId, text: `${text} ${seq}` }),
  );
}
