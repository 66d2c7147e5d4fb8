/**
 * Which turn of a script answers a request. It is read off the request alone, so that any process can play it and a
 * crash changes nothing.
 */
import { PerdureError } from '../../contract/errors.js';
import type { BaseMessage } from '../../contract/messages.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import { checkExpectation, describeRequest } from './check-expectation.js';
import type { Reply, Script, Turn } from './script.js';

export interface PickedTurn {
  /** From 0; undefined: the script's own synthesis. */
  index: number | undefined;
  reply: Reply;
}

export function pickTurn(script: Script, request: ModelRequest): PickedTurn {
  const withoutTools = request.tool_choice === 'none';
  const index = withoutTools && script.synthesis !== undefined ? undefined : countModelCalls(request.messages);
  const turn = index === undefined ? script.synthesis : script.turns[index];
  if (turn === undefined) {
    const expected = script.turns.length === 1 ? 'only 1 call' : `only ${script.turns.length} calls`;
    throw mismatch(request, `call ${(index ?? 0) + 1} was not expected: the script has ${expected}`);
  }
  const complaint = checkExpectation(turn.expect ?? {}, request);
  if (complaint !== undefined) throw mismatch(request, `${labelOf(index)} expects ${complaint}`);
  const reply = replyOf(turn, request.attempt);
  if (index === undefined || !withoutTools) return { index, reply };
  if (reply.synthesis !== undefined) {
    const { tool_calls: _, ...rest } = reply;
    return { index, reply: { ...rest, text: reply.synthesis } };
  }
  if (reply.tool_calls?.length) {
    const why = 'calls tools, and the request allows none: the script needs a synthesis';
    throw mismatch(request, `${labelOf(index)} ${why}`);
  }
  return { index, reply };
}

/**
 * One call's messages stand together; between two calls there are results or a user's message, or, where a synthesis
 * follows an answer, another step.
 */
export function countModelCalls(messages: readonly BaseMessage[]): number {
  let calls = 0;
  let speaking = false;
  let step: string | undefined;
  for (const message of messages) {
    if (message.role !== 'assistant' && message.role !== 'reasoning') {
      speaking = false;
      step = undefined;
      continue;
    }
    const ownStep = stepOf(message);
    if (!speaking || (step !== undefined && ownStep !== undefined && ownStep !== step)) calls += 1;
    speaking = true;
    step = ownStep ?? step;
  }
  return calls;
}

export function labelOf(index: number | undefined): string {
  return index === undefined ? 'the synthesis' : `turn ${index + 1}`;
}

function replyOf(turn: Turn, attempt: number): Reply {
  const { attempts, expect: _, ...base } = turn;
  return { ...base, ...attempts?.[Math.min(attempt, attempts.length) - 1] };
}

function stepOf(message: BaseMessage): string | undefined {
  const step = (message.meta as { step_id?: unknown } | null | undefined)?.step_id;
  return typeof step === 'string' ? step : undefined;
}

function mismatch(request: ModelRequest, what: string): PerdureError {
  const where = `In ${request.run_id} (${request.step_id})`;
  const message = `${where} ${what}. What came: ${describeRequest(request)}`;
  return new PerdureError('script_mismatch', message, { provider: 'scripted' });
}
