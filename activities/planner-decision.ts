/** What a planner returned, normalised into exactly one of: tool calls, an answer, a question. It is the application's: it is not trusted. */
import type { ChatInvokeCompletion } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { ToolCall } from '../contract/messages.js';
import { ASK_CLARIFICATION_TOOL } from '../contract/names.js';
import { textOf } from './planner-speech.js';

/** `text` is said to the user: all of the answer, or what comes with the calls. */
export interface Decided {
  text: string;
  calls: ToolCall[];
}

interface DecisionFields {
  answer: string;
  ask: string;
  choices: string[];
  tool_calls: { tool: string; args: unknown; provider_meta?: unknown }[];
  text: string;
  completion: ChatInvokeCompletion;
}

/** `made`: what the model answered in this step. */
export function readDecision(
  decision: Partial<DecisionFields> | undefined,
  made: readonly ChatInvokeCompletion[],
): Decided {
  const { answer, ask, choices, tool_calls: given = [], text = '', completion } = decision ?? {};
  if (completion !== undefined) return nonEmpty({ text: textOf(completion.messages), calls: callsOf(completion) });
  if (typeof answer === 'string' && answer !== '') return { text: answer, calls: [] };
  const question = { question: ask, ...(choices === undefined ? {} : { choices }) };
  const asks = typeof ask === 'string' && ask !== '';
  const wanted: DecisionFields['tool_calls'] = asks ? [{ tool: ASK_CLARIFICATION_TOOL, args: question }] : given;
  const proposed = made.flatMap(callsOf);
  return nonEmpty({ text, calls: wanted.map((call) => toCall(call, proposed)) }, wanted.length === 0);
}

function nonEmpty(decided: Decided, isNone = decided.text === '' && decided.calls.length === 0): Decided {
  if (!isNone) return decided;
  throw new PerdureError('model_no_answer', 'the planner decided nothing: no answer, no tool call, no question');
}

function callsOf({ messages }: ChatInvokeCompletion): ToolCall[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
}

/** A call that the model proposed keeps what its vendor wants to see again, also where the planner wrote it down anew. */
function toCall({ tool, args, provider_meta }: DecisionFields['tool_calls'][number], proposed: ToolCall[]): ToolCall {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
  const at = proposed.findIndex((call) => call.function.name === tool && isSame(call.function.arguments, text));
  const [same] = at === -1 ? [] : proposed.splice(at, 1);
  const meta = provider_meta ?? same?.provider_meta;
  return {
    id: '',
    type: 'function',
    function: { name: tool, arguments: text },
    ...(meta === undefined ? {} : { provider_meta: meta }),
  };
}

function isSame(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
  } catch {
    return false;
  }
}
