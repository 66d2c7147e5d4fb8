/** What the model reads of a call that the run itself put an end to. */
import { toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure } from '../contract/tools.js';
import type { Run } from './run-state.js';

export function stoppedFailure(run: Run): ToolFailure {
  return run.cancellation !== undefined
    ? toolFailure('canceled', `The run was canceled (${run.cancellation.reason}) while this call was running.`)
    : toolFailure('timeout', 'The time budget of the run was used up while this call was running.');
}
