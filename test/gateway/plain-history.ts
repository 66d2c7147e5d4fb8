/** All that the Temporal server keeps of the workflows of a task queue, as text in which one can look for words. */
import type { Client } from '@temporalio/client';

export interface PlainHistories {
  all: string;
  withoutDebug: string;
}

export async function plainHistory(client: Client, taskQueue: string): Promise<PlainHistories> {
  const histories: unknown[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: `TaskQueue = '${taskQueue}'` })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.push({ workflowId, events });
  }
  return {
    all: JSON.stringify(plain(histories, () => false)),
    withoutDebug: JSON.stringify(plain(histories, (name) => name === 'debug_message')),
  };
}

/** Payloads are read; what cannot be JSON, such as large numbers, is written out. */
function plain(value: unknown, leaveOut: (name: string) => boolean): unknown {
  if (value instanceof Uint8Array) return plain(parsed(Buffer.from(value).toString()), leaveOut);
  if (Array.isArray(value)) return value.map((item) => plain(item, leaveOut));
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value;
  const kept = Object.entries(value).filter(([name]) => !leaveOut(name));
  return Object.fromEntries(kept.map(([name, field]) => [name, plain(field, leaveOut)]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
