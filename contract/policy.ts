/**
 * Which tools a run may call: fail-closed data. A run has a chain of policies, its own and those of its ancestors,
 * and each of them must agree, so a child can only narrow. No zod here.
 */

export interface Policy {
  allow: 'all' | readonly string[];
  deny: readonly string[];
  /** Allowed once a person has said so. */
  approve: readonly string[];
}

export interface PolicyDecision {
  decision: 'allow' | 'deny' | 'approve';
  rule?: string;
  reason: string;
}

/** `web.pages.read_web_page`, `web.pages.*`, `web.*` or `*`. */
export const TOOL_PATTERN = /^(\*|[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.\*)?)$/;

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
    if (allow === 'all') continue;
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
