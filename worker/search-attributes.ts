/** Registers our search attributes where the namespace lacks them; where that is not allowed, does without and says so. */
import type { Client } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import type { SearchAttributeName } from '../contract/names.js';

/** IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD */
const KEYWORD = 2;

/** Those that runs may set. */
export async function registerSearchAttributes(
  client: Client,
  namespace: string,
  report: (line: string) => void,
): Promise<SearchAttributeName[]> {
  const { operatorService } = client.connection as typeof client.connection & { operatorService?: OperatorService };
  try {
    if (operatorService === undefined) throw new Error('this connection has no operator service');
    const present = await listed(operatorService, namespace);
    const missing = SEARCH_ATTRIBUTES.filter((name) => !present.has(name));
    if (missing.length > 0) {
      await operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
      });
      report(`registered search attributes: ${missing.join(', ')}`);
    }
    return [...SEARCH_ATTRIBUTES];
  } catch (error) {
    const present =
      operatorService === undefined
        ? new Set<string>()
        : await listed(operatorService, namespace).catch(() => new Set<string>());
    const usable = SEARCH_ATTRIBUTES.filter((name) => present.has(name));
    report(
      `search attributes cannot be registered in namespace ${namespace} (${error instanceof Error ? error.message : String(error)}): runs set ${usable.length === 0 ? 'none' : usable.join(', ')}. Ask an operator for: ${SEARCH_ATTRIBUTES.join(', ')} (Keyword).`,
    );
    return usable;
  }
}

interface OperatorService {
  listSearchAttributes(request: { namespace: string }): Promise<{ customAttributes?: Record<string, unknown> | null }>;
  addSearchAttributes(request: { namespace: string; searchAttributes: Record<string, number> }): Promise<unknown>;
}

async function listed(operatorService: OperatorService, namespace: string): Promise<Set<string>> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return new Set(Object.keys(customAttributes ?? {}));
}
