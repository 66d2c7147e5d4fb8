/** Whose share of a worker a call takes: its org's, or its run tree's where no org is known. */
import type { ToolContext } from '../kit/define-tool.js';

type WithPrincipal = Pick<ToolContext, 'run'> & Partial<Pick<ToolContext, 'principal'>>;

export function tenantOf({ principal, run }: WithPrincipal): string {
  return principal?.org_id ?? run.root_run_id;
}
