/** What answers a pause: shapes of the updates and signals, and the check that both share. No zod here. */

export interface ClarificationAnswer {
  await_id: string;
  answer: string;
  answered_by?: string;
}

export interface ClientToolResult {
  tool_call_id: string;
  status: 'success' | 'error' | 'declined';
  output?: unknown;
  runtime_ms?: number;
}

export interface ToolResultsAnswer {
  /** May be left out: the calls say which pause is meant. */
  await_id?: string;
  results: ClientToolResult[];
  answered_by?: string;
}

export interface ApprovalAnswer {
  await_id: string;
  decision: 'approve' | 'deny';
  /** Of the event: what is approved is this call with these arguments. */
  digest: string;
  note?: string;
  answered_by?: string;
}

export type AwaitKind = 'clarification' | 'external_tools' | 'approval';

/** A pause as the snapshot shows it. */
export interface OpenAwait {
  await_id: string;
  kind: AwaitKind;
  /** Whose it is: this run, or a descendant. */
  run_id: string;
  question?: string;
  choices?: string[];
  calls?: { tool_call_id: string; name: string; arguments: string }[];
  digest?: string;
  expires_at?: string;
}

/** A pause of a descendant that has opened or is over. */
export interface ChildAwaitChange {
  link: { run_id: string; agent_id: string; stream_key: string };
  await_id: string;
  kind: AwaitKind;
  state: 'open' | 'resolved';
  /** Of the caller's tools, while they are open. */
  calls?: { tool_call_id: string; name: string }[];
}

/** From a child to its parent, and from there on to the root. */
export interface ChildAwaitNotice {
  /** The child that sends it. */
  via: string;
  /** It has nothing to do but wait for people. */
  paused: boolean;
  /** Its own and those of its descendants, since its last notice. */
  changes: ChildAwaitChange[];
}

/** Undefined when the shape is right, else what is wrong with it. */
export function malformedAnswer(kind: AwaitKind, answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null) return 'the answer is no object';
  const given = answer as Record<string, unknown>;
  const text = (field: string) =>
    typeof given[field] === 'string' && given[field] !== '' ? undefined : `${field} must be a text`;
  if (kind === 'clarification') return text('await_id') ?? text('answer');
  if (kind === 'approval') {
    const decision =
      given['decision'] === 'approve' || given['decision'] === 'deny'
        ? undefined
        : 'decision must be "approve" or "deny"';
    return text('await_id') ?? decision ?? text('digest');
  }
  const { results } = given;
  if (!Array.isArray(results) || results.length === 0) return 'results must be a list with at least one result';
  for (const [n, result] of (results as Partial<ClientToolResult>[]).entries()) {
    if (typeof result?.tool_call_id !== 'string') return `results[${n}].tool_call_id must be a text`;
    if (!['success', 'error', 'declined'].includes(String(result.status))) {
      return `results[${n}].status must be "success", "error" or "declined"`;
    }
    const { runtime_ms = 0 } = result;
    if (!Number.isFinite(runtime_ms) || runtime_ms < 0)
      return `results[${n}].runtime_ms must be a number of milliseconds`;
  }
  return undefined;
}
