/**
 * The emitter's side of `seeds/event-contract.md`.
 *
 * E1  A line is made by a constructor of shapes.ts, which owns its fields.
 * E2  The answer is shown once: `summary_final` that repeats the texts of its step has no lines.
 * E3  A successful run ends with `status: complete`, any other with `error` and nothing after it: `complete` is a word
 *     for success in the contract's own table. A consumer stops streaming at either. Inside a parent's stream neither
 *     is said, since a consumer takes both for the end of the stream.
 * E4  Progress that was shown live is not shown again when it is committed.
 */
import { toolName } from '../../contract/ids.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { Dialect } from '../dialect.js';
import { readShown, writeShown } from '../shown-cursor.js';
import { nothingShown } from '../shown-text.js';
import { streamWarnings } from '../stream-warning.js';
import { badEnd } from '../tool-words.js';
import { CODE_TOOLS } from './vocabulary.js';
import { generatedFile, researchStatus, runComplete, runError } from './shapes.js';
import { callOf, quiet, told } from './state.js';
import type { ContractState, ContractTold } from './state.js';
import { tellAwait } from './tell-awaits.js';
import { tellInputChunk, tellOutputChunk } from './tell-code.js';
import { tellText } from './tell-text.js';
import { tellProgress, tellRequested, tellResult } from './tell-tools.js';
import { RUNTIME, toolStatus } from './tool-lines.js';

export const eventContract: Dialect<ContractState> = {
  name: 'event_contract',
  begin: ({ commit, nested = false }) => ({ shown: nothingShown(commit), nested, calls: {}, readers: {} }),
  tell,
  shown: ({ shown }) => writeShown(shown),
  resume: (state, written) => ({ ...state, shown: readShown(state.shown, written) }),
};

function tell(state: ContractState, event: StreamEvent): ContractTold {
  const { run_id } = event;
  switch (event.type) {
    case 'text_chunk':
    case 'thinking_chunk':
    case 'summary_chunk':
    case 'text_end':
    case 'thinking_end':
    case 'summary_final':
    case 'notice_posted':
      return tellText(state, event);
    case 'step_completed':
      return withoutReaders(tellText(state, event));
    case 'tool_input_chunk':
      return CODE_TOOLS.has(toolName(event.name)) ? tellInputChunk(state, event) : quiet(state);
    case 'tool_output_chunk':
      return CODE_TOOLS.has(callOf(state, event).tool) ? tellOutputChunk(state, event) : quiet(state);
    case 'tool_requested':
      return tellRequested(state, event);
    case 'tool_progress':
    case 'tool_retry':
      return tellProgress(state, event);
    case 'tool_result':
      return tellResult(state, event);
    case 'agent_run_started':
      return told(state, [toolStatus(run_id, callOf(state, event), 'in_progress', 'Worker active. Streaming...')]);
    case 'budget_exceeded': {
      const text = `A limit of the ${event.scope} was reached (${event.limit}): the answer is made of what there is.`;
      return told(state, [researchStatus(run_id, RUNTIME, 'warning', text)]);
    }
    case 'await_clarification':
    case 'await_external_tools':
    case 'await_approval':
    case 'await_resolved':
    case 'child_await_changed':
      return tellAwait(state, event);
    case 'file_generated':
      return told(state, [generatedFile(run_id, event)]);
    case 'run_completed':
      return tellEnd(state, run_id, badEnd(event));
    case 'stream_ended': {
      const { lines } = tellEnd(state, run_id, event.message);
      return { state, lines: lines.map(({ data }) => ({ data })), warnings: streamWarnings(event) };
    }
    case 'stream_failed':
      return { state, lines: [], warnings: streamWarnings(event) };
    case 'live_dropped':
      return { ...tellText(state, event), warnings: streamWarnings(event) };
    case 'run_started':
    case 'run_phase_changed':
    case 'step_started':
    case 'usage_recorded':
    case 'thinking_start':
    case 'text_start':
    case 'summary_start':
    case 'attempt_retracted':
    case 'model_fallback':
    case 'context_compacted':
    case 'tool_scheduled':
    case 'policy_decided':
    case 'answer_rejected':
    case 'goal_declared':
    case 'goal_achieved':
    case 'goal_failed':
    case 'reprompted':
      return quiet(state);
  }
}

function tellEnd(state: ContractState, run_id: string, wrong: string | undefined): ContractTold {
  if (state.nested) return quiet(state);
  return told(state, [wrong === undefined ? runComplete(run_id) : runError(run_id, wrong)]);
}

/** Arguments that no call claimed were a dead attempt's. */
function withoutReaders(ended: ContractTold): ContractTold {
  return { ...ended, state: { ...ended.state, readers: {} } };
}
