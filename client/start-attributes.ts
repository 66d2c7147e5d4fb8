/**
 * The search attributes that a run has from its start. It sets them itself where it was started without them; from
 * the start they cost the server less, and lists know the run sooner. Only those that the namespace has: one that is
 * not registered would fail the start.
 */
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import type { SearchAttributeName } from '../contract/names.js';
import type { RunRequest } from '../contract/run.js';

const DEADLINE_MS = 2_000;

interface OperatorService {
  listSearchAttributes(request: { namespace: string }): Promise<{ customAttributes?: Record<string, unknown> | null }>;
}

/** Asks the server until all are there; a server that cannot be asked is asked once. */
export function createStartAttributes(
  client: Client,
): (request: RunRequest, runId: string) => Promise<SearchAttributePair[]> {
  let known: Promise<ReadonlySet<string>> | undefined;

  async function ask(): Promise<ReadonlySet<string>> {
    const { operatorService } = client.connection as typeof client.connection & { operatorService?: OperatorService };
    if (operatorService === undefined) return new Set();
    const { customAttributes } = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      operatorService.listSearchAttributes({ namespace: client.options.namespace }),
    );
    const present = new Set(Object.keys(customAttributes ?? {}));
    if (!SEARCH_ATTRIBUTES.every((name) => present.has(name))) known = undefined;
    return present;
  }

  return async (request, runId) => {
    known ??= ask().catch(() => new Set<string>());
    const present = await known;
    const values: Partial<Record<SearchAttributeName, string | undefined>> = {
      PerdureAgentId: request.agent_id,
      PerdurePhase: 'prompted',
      PerdureRootRunId: runId,
      PerdureThreadId: request.thread_id,
      PerdureOrgId: request.org_id,
      PerdureCreatedBy: request.created_by,
    };
    return Object.entries(values).flatMap(([name, value]) =>
      value === undefined || !present.has(name)
        ? []
        : [{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }],
    );
  };
}
