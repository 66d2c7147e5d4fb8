/** Making a tool's failure, and what the model reads of it. No zod here. */
import type { EventOf } from './events.js';
import type { ToolContent } from './messages.js';
import type { ToolFailure, ToolFailureKind } from './tools.js';

const RECOVERY: Record<ToolFailureKind, ToolFailure['recovery']> = {
  invalid_call: 'correct_call',
  denied: 'replan',
  capped: 'finish',
  unavailable: 'correct_call',
  rate_limited: 'replan',
  timeout: 'replan',
  expired: 'replan',
  outcome_unknown: 'replan',
  malformed_result: 'replan',
  canceled: 'finish',
  internal: 'replan',
};

const ADVICE: Record<ToolFailure['recovery'], string> = {
  correct_call: 'Correct the call and try again.',
  replan: 'Do not repeat the same call unchanged; find another way.',
  finish: 'Call no more tools; answer with what you have.',
};

export function toolFailure(kind: ToolFailureKind, message: string, issues: ToolFailure['issues'] = []): ToolFailure {
  return { kind, message, issues, recovery: RECOVERY[kind] };
}

export function failureText(failure: ToolFailure): string {
  const issues = failure.issues.map((issue) => `- ${issue.path || '(arguments)'}: ${issue.message}`);
  return [`${failure.kind}: ${failure.message}`, ...issues, ADVICE[failure.recovery]].join('\n');
}

/** What a result says: of one that failed without content, why. A failure without a message is one whose words are hidden. */
export function resultContent(event: EventOf<'tool_result'>): ToolContent {
  const isTold = event.status === 'error' && event.content === '' && event.failure.message !== '';
  return isTold ? failureText(event.failure) : event.content;
}
