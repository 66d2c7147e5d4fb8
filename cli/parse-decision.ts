/** A yes or a no, as a person writes it. */
import type { Wish } from './submit-answer.js';

export const DECISION_HINT = 'y or n; what follows an n is the reason';

/** Undefined for what is neither: a yes with an "if" is not taken for a yes. */
export function parseDecision(text: string): Extract<Wish, { kind: 'approval' }> | undefined {
  const [, yes, no, note = ''] = /^(?:(y|yes)|(n|no)\b[\s,:]*(.*))$/is.exec(text.trim()) ?? [];
  if (yes !== undefined) return { kind: 'approval', decision: 'approve' };
  if (no !== undefined) return { kind: 'approval', decision: 'deny', ...(note === '' ? {} : { note }) };
  return undefined;
}

export function neitherYesNorNo(text: string): string {
  return `"${text}" is neither yes nor no: give y to approve, or n and the reason to deny`;
}
