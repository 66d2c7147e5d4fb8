import type { Connection } from '@temporalio/client';
import type { Report } from './report.js';

const RETENTION_SECONDS = 30 * 24 * 60 * 60;
const CALL_TIMEOUT_MS = 10_000;

/** The types that `--search-attribute` knows, with their numbers in temporal.api.enums.v1.IndexedValueType. */
const ATTRIBUTE_TYPES = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

export type SearchAttributes = Readonly<Record<string, keyof typeof ATTRIBUTE_TYPES>>;

export interface SetUpOptions {
  connection: Connection;
  namespace: string;
  searchAttributes: SearchAttributes;
  report: Report;
}

/** What the dev server's options do not do: retention, and search attributes in a namespace that exists already. */
export async function setUpNamespace(options: SetUpOptions): Promise<void> {
  await options.connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    await lengthenRetention(options);
    await addMissingAttributes(options);
  });
}

/** The dev server deletes a closed run after a day. Somebody who set more than ours keeps it. */
async function lengthenRetention({ connection, namespace }: SetUpOptions): Promise<void> {
  const { workflowService } = connection;
  const { config } = await workflowService.describeNamespace({ namespace });
  const seconds = config?.workflowExecutionRetentionTtl?.seconds;
  // Zero is the server's way of saying "for ever".
  if (!seconds || seconds.isZero() || seconds.gte(RETENTION_SECONDS)) return;
  await workflowService.updateNamespace({
    namespace,
    // Reckoned from the old value, as Temporal's own type for 64-bit numbers is not ours to import.
    config: { workflowExecutionRetentionTtl: { seconds: seconds.sub(seconds).add(RETENTION_SECONDS) } },
  });
}

/** `--search-attribute` counts only when the server creates the namespace: a folder of an older version lacks the new ones. */
async function addMissingAttributes(options: SetUpOptions): Promise<void> {
  const { connection, namespace, searchAttributes, report } = options;
  const { operatorService } = connection;
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing: Record<string, number> = {};
  for (const [name, type] of Object.entries(searchAttributes)) {
    const registered = customAttributes[name];
    if (registered === undefined) missing[name] = ATTRIBUTE_TYPES[type];
    else if (registered !== ATTRIBUTE_TYPES[type])
      report(`search attribute ${name} is registered with another type than ${type}: it is left as it is`);
  }
  if (Object.keys(missing).length > 0)
    await operatorService.addSearchAttributes({ namespace, searchAttributes: missing });
}
