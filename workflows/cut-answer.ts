/**
 * An answer that the vendor's limit of length cut: it is kept, continued, or the run fails, as the agent is pinned to.
 * An agent that was pinned before there was a choice keeps it, as ever, so no history sees another command.
 */
import type { Failure } from '../contract/run.js';
import { stopBeforeStep } from './caps.js';
import type { Decision, Step } from './model-step.js';
import { failure } from './run-failure.js';
import type { Run } from './run-state.js';

/** How often the model is asked to go on. */
const MOST_PARTS_MORE = 3;
export const GO_ON =
  'Your answer was cut at its limit of length. Go on exactly where it stopped: repeat nothing, begin in the middle of a word if it ended there, and say nothing about the cut.';

type Answer = Extract<Decision, { kind: 'answer' }>;

export function isCut({ stop_reason }: { stop_reason?: string }): boolean {
  return stop_reason === 'max_tokens';
}

export function cutFailure(run: Run, step: Step): Failure {
  const debug = `the answer of ${step.id} of run ${run.handle.run_id} was cut at the limit of the model's output, and on_cut_answer is "fail"`;
  return failure('model_answer_cut', debug);
}

/**
 * The answer with what the model adds to it. A limit of the run, a cancel or a vendor that fails ends it early: what
 * there is by then is the answer.
 */
export async function continued(run: Run, first: Answer, goOn: () => Promise<Decision>): Promise<Answer> {
  let answer = first;
  for (let part = 0; part < MOST_PARTS_MORE && isCut(answer); part += 1) {
    if (run.cancellation !== undefined || stopBeforeStep(run) !== undefined) break;
    const more = await goOn();
    if (more.kind !== 'answer' || more.text === '') break;
    answer = { ...more, text: answer.text + more.text };
  }
  return answer;
}
