/** What answers a pause: shapes of the updates and signals, and the check that both share. No zod here. */
import { isPrincipal } from './principal.js';
import type { Principal } from './principal.js';

/** Who answers. An edge that knows it says so, and the run checks it; whoever speaks to Temporal itself operates it. */
interface By {
  answered_by?: string;
  by?: Principal;
}

export interface ClarificationAnswer extends By {
  await_id: string;
  answer: string;
}

export interface ClientToolResult {
  tool_call_id: string;
  status: 'success' | 'error' | 'declined';
  output?: unknown;
  runtime_ms?: number;
}

export interface ToolResultsAnswer extends By {
  /** May be left out: the calls say which pause is meant. */
  await_id?: string;
  results: ClientToolResult[];
}

export interface ApprovalAnswer extends By {
  await_id: string;
  decision: 'approve' | 'deny';
  /** Of the event: what is approved is this call with these arguments. */
  digest: string;
  note?: string;
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
  /** Of an approval: the call as a person can read it, the tool's name last. See `render-call.ts`. */
  rendering?: string;
  expires_at?: string;
}

/** What a question or an approval asks of people, as a thread shows it: see `pause-text.ts`. */
export interface PauseAsks {
  text: string;
  tool_call_id?: string;
  /** Of an approval. */
  digest?: string;
  expires_at?: string;
}

/** Who may answer: of the policies of the run and its ancestors, those that say so. */
export type AnswerRules = { answers?: readonly string[] | undefined; approvals?: readonly string[] | undefined }[];

/** A pause of a descendant that has opened or is over. */
export interface ChildAwaitChange {
  link: { run_id: string; agent_id: string; stream_key: string };
  await_id: string;
  kind: AwaitKind;
  state: 'open' | 'resolved';
  /** Of the caller's tools, while they are open: those that are asked of it, or the one that waits for leave. */
  calls?: { tool_call_id: string; name: string }[];
  /** Below a thread, while it is open. */
  asks?: PauseAsks;
  rules?: AnswerRules;
  /** Below a thread, when it is over: how, and the first part of what was answered to a question. */
  resolution?: 'answered' | 'approved' | 'denied' | 'expired' | 'canceled';
  answer?: string;
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
  if (given['by'] !== undefined && !isPrincipal(given['by'])) return 'by must be a principal';
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
