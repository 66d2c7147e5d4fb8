/**
 * Pauses. The contract has no words for them: a status `warning` ("non-fatal issue, continuing") of the tool's family
 * is the least wrong, since a consumer shows it and goes on streaming; the transport's warning has the id that an
 * answer needs. A question is not `content`: it is no part of the answer.
 */
import type { DurableEvent } from '../../contract/events.js';
import { toolName } from '../../contract/ids.js';
import { pauseWarnings } from '../pause-warning.js';
import { researchStatus } from './shapes.js';
import type { ContractLine } from './shapes.js';
import { callOf, told } from './state.js';
import type { ContractState, ContractTold } from './state.js';
import { openCall, RUNTIME, toolStatus } from './tool-lines.js';

type AwaitEvent = Extract<
  DurableEvent,
  {
    type: 'await_clarification' | 'await_external_tools' | 'await_approval' | 'await_resolved' | 'child_await_changed';
  }
>;

export function tellAwait(state: ContractState, event: AwaitEvent): ContractTold {
  return told(state, awaitLines(state, event), pauseWarnings(event));
}

function awaitLines(state: ContractState, event: AwaitEvent): ContractLine[] {
  const { run_id } = event;
  switch (event.type) {
    case 'await_clarification':
      return [toolStatus(run_id, callOf(state, event), 'warning', `Waiting for an answer: ${event.question}`)];
    case 'await_external_tools':
      return event.calls.map(({ name }) => {
        const call = openCall(toolName(name), '{}');
        return toolStatus(run_id, call, 'warning', `Waiting for the caller to run ${call.tool}.`);
      });
    case 'await_approval': {
      const call = callOf(state, event);
      return [toolStatus(run_id, call, 'warning', `Waiting for approval of ${call.tool}.`)];
    }
    case 'await_resolved':
      return [researchStatus(run_id, RUNTIME, 'in_progress', `The wait is over: ${event.resolution}.`)];
    case 'child_await_changed': {
      const { link, state: now } = event;
      const [word, text] =
        now === 'open' ? (['warning', 'waits for someone.'] as const) : (['in_progress', 'goes on.'] as const);
      return [researchStatus(run_id, RUNTIME, word, `${link.agent_id} ${text}`)];
    }
  }
}
