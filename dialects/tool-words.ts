/** What the seeds' formats say of a call: its tool's short name, its arguments as an object, its result as a text. */
import type { EventOf } from '../contract/events.js';
import { idInTree, toolName } from '../contract/ids.js';
import { resultContent } from '../contract/tool-failure.js';

export function calledTool(event: { tool_id?: string | undefined; name?: string }): string {
  return toolName(event.tool_id ?? event.name ?? '');
}

/** In a stream of several runs, a call of one that is not the stream's own has its run in front. */
export function toldCallId(
  { run_id, tool_call_id = '' }: { run_id: string; tool_call_id?: string | undefined },
  nested: boolean,
): string {
  return nested ? idInTree(run_id, tool_call_id) : tool_call_id;
}

/** Arguments that are redacted, or no JSON object, are none: the model's own words are in the log. */
export function parsedArguments(written: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(written);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}

export function resultText(event: EventOf<'tool_result'>): string {
  const content = resultContent(event);
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n');
}

/** How a run ended that did not succeed, in words that its reader may see. */
export function badEnd(event: EventOf<'run_completed'>): string | undefined {
  if (event.status === 'failed') return event.failure.message || `The run failed (${event.failure.code}).`;
  if (event.status === 'success') return undefined;
  const { reason, note } = event.cancellation;
  return `The run was canceled (${reason})${note === undefined ? '.' : `: ${note}`}`;
}
