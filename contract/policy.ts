/**
 * Which tools a run may call, and who may answer it: fail-closed data. A run has a chain of policies, its own and those of its ancestors,
 * and each of them must agree, so a child can only narrow. No zod here.
 */

import { READ_OUTPUT_TOOL } from './names.js';
import type { Principal } from './principal.js';

export interface Policy {
  allow: 'all' | readonly string[];
  deny: readonly string[];
  /** Allowed once a person has said so. */
  approve: readonly string[];
  /** Who may answer its questions and give results of its client's tools. */
  answers?: readonly string[] | undefined;
  /** Who may approve and deny its calls. */
  approvals?: readonly string[] | undefined;
}

/** `creator`, `org` for every member of it, or `role:admin` and the like. */
export const ANSWERER_PATTERN = /^(creator|org|role:[A-Za-z0-9][A-Za-z0-9._:-]{0,63})$/;
const BY_DEFAULT = ['creator', 'role:admin'];

export interface PolicyDecision {
  decision: 'allow' | 'deny' | 'approve';
  rule?: string;
  reason: string;
}

/** `web.pages.read_web_page`, `web.pages.*`, `web.*` or `*`. */
export const TOOL_PATTERN = /^(\*|[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.\*)?|client\.declared\.client_[a-zA-Z0-9_]+)$/;

export function matchesTool(pattern: string, toolId: string): boolean {
  if (pattern === '*') return true;
  return pattern.endsWith('.*') ? toolId.startsWith(pattern.slice(0, -1)) : pattern === toolId;
}

export function decide(policies: readonly Policy[], toolId: string): PolicyDecision {
  for (const { deny } of policies) {
    const rule = deny.find((pattern) => matchesTool(pattern, toolId));
    if (rule !== undefined) return { decision: 'deny', rule, reason: `denied by the rule "${rule}"` };
  }
  for (const { allow, approve } of policies) {
    // To read on in what a call has given is part of what it gave: it needs no rule of its own.
    if (allow === 'all' || toolId === READ_OUTPUT_TOOL) continue;
    // What needs approval is allowed in principle.
    if (![...allow, ...approve].some((pattern) => matchesTool(pattern, toolId))) {
      return { decision: 'deny', reason: 'no rule allows it' };
    }
  }
  for (const { approve } of policies) {
    const rule = approve.find((pattern) => matchesTool(pattern, toolId));
    if (rule !== undefined) return { decision: 'approve', rule, reason: `the rule "${rule}" asks for approval` };
  }
  return { decision: 'allow', reason: 'allowed' };
}

/**
 * The rules by which a run takes answers: its own agent's, or what holds where that states none; and what its ancestors
 * and its request state, which can only narrow it.
 */
export function answerRules(policies: readonly AnswerRule[], own: AnswerRule | undefined): AnswerRule[] {
  const states = ({ answers, approvals }: AnswerRule) => answers !== undefined || approvals !== undefined;
  const stated = policies.filter(states).map(({ answers, approvals }) => ({ answers, approvals }));
  // Where nobody states anything, the default holds anyway.
  if (own === undefined || stated.length === 0) return stated;
  const missing = {
    answers: own.answers === undefined ? BY_DEFAULT : undefined,
    approvals: own.approvals === undefined ? BY_DEFAULT : undefined,
  };
  return states(missing) ? [...stated, missing] : stated;
}

type AnswerRule = Pick<Policy, 'answers' | 'approvals'>;

/** Why somebody may not answer; undefined where they may. Every policy that has a rule must agree. */
export function answerRefused(
  policies: readonly AnswerRule[],
  kind: 'answers' | 'approvals',
  by: Principal,
  creator: Pick<Principal, 'org_id' | 'user_id'>,
): string | undefined {
  const stated = policies.flatMap((policy) => (policy[kind] === undefined ? [] : [policy[kind]]));
  const rules = stated.length === 0 ? [BY_DEFAULT] : stated;
  const fits = (rule: string): boolean => {
    if (creator.org_id !== by.org_id) return false;
    if (rule === 'org') return true;
    if (rule === 'creator') return by.user_id !== undefined && by.user_id === creator.user_id;
    return by.roles.includes(rule.slice('role:'.length));
  };
  const failed = rules.find((rule) => !rule.some(fits));
  if (failed === undefined) return undefined;
  const what = kind === 'answers' ? 'answers' : 'approvals';
  return `${what} of this run take one of: ${failed.join(', ')}; "${by.user_id ?? 'nobody'}" is none of them`;
}
