/** The history of steps, over a tree, and beside the stream of the same run. PERDURE_SEED repeats a run. */
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DurableEvent } from '../../../contract/events.js';
import type { StreamEvent } from '../../../contract/live-events.js';
import { TaskStep } from '../../../contract/task-steps.js';
import { projectTaskSteps } from '../../../dialects/index.js';
import { randomRun } from '../random-runs.js';
import { isDurable } from '../resume.js';
import { linesOf, tellAll } from '../tell-all.js';

const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);

function recorded(name: string): StreamEvent[] {
  const text = readFileSync(join(import.meta.dirname, '../golden', name, 'events.ndjson'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamEvent);
}

it('gives a child’s steps the step that called it as their parent, and each step an id of its own', () => {
  const steps = projectTaskSteps(recorded('delegation-with-child').filter(isDurable));
  expect(steps.map(({ id, parent_id, agent_name }) => [id, parent_id, agent_name])).toEqual([
    ['run_1:step_1', undefined, 'demo.assistant'],
    ['run_1/call_1_1:step_1', 'run_1:step_1', 'demo.researcher'],
    ['run_1:step_2', undefined, 'demo.assistant'],
  ]);
  expect(steps[0]?.parts.map(({ type }) => type)).toEqual(['tool_call', 'tool_result']);
});

it('gives each call of a tree an id of its own, and the run that was asked for its plain ones', () => {
  const log = recorded('delegation-with-child').filter(isDurable);
  // The child calls the same tool with the same id.
  const tree = log.flatMap((event): DurableEvent[] => {
    const { run_id, agent_id, step_id } = log.find(({ parent_run_id: parent }) => parent !== undefined)!;
    const isCall = event.type === 'tool_requested' || event.type === 'tool_result';
    return isCall ? [event, { ...event, run_id, agent_id, step_id: step_id ?? 'step_1' }] : [event];
  });
  const idsIn = (runId?: string) =>
    projectTaskSteps(tree, runId).map(({ parts }) =>
      parts.flatMap((part) =>
        part.type === 'tool_call'
          ? part.tool_call.id
          : part.type === 'tool_result'
            ? part.tool_result.tool_call_id
            : [],
      ),
    );
  const below = 'run_1/call_1_1:call_1_1';
  expect(idsIn()).toEqual([['call_1_1', 'call_1_1'], [below, below], []]);
  expect(idsIn('run_1/call_1_1')).toEqual([['run_1:call_1_1', 'run_1:call_1_1'], ['call_1_1', 'call_1_1'], []]);
});

it('shows the step of a run that goes on as far as it is', () => {
  const log = recorded('tools-web').filter(isDurable);
  const steps = projectTaskSteps(log.filter(({ seq }) => seq < 9));
  expect(steps).toMatchObject([
    { id: 'run_1:step_1', parts: [{ type: 'text' }, { type: 'tool_call' }, { type: 'tool_call' }] },
  ]);
  expect(steps[0]?.metadata).not.toHaveProperty('status');
});

it(`is what step_final said, for live readers and late ones (PERDURE_SEED=${SEED})`, () => {
  fc.assert(
    fc.property(randomRun, (stream) => {
      const steps = projectTaskSteps(stream.filter(isDurable));
      for (const step of steps) expect(TaskStep.parse(step)).toEqual(step);
      expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
      for (const told of [stream, stream.filter(isDurable)]) {
        const finals = linesOf(tellAll('task_steps', told)).filter(({ data }) => data['type'] === 'step_final');
        expect(finals.map(({ data }) => data['data'])).toEqual(steps);
      }
    }),
    { seed: SEED, numRuns: 200 },
  );
});
