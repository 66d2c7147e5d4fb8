/** A tool call and its result as blocks of a thread's messages. No zod here. */
import type { EventOf } from './events.js';
import { toolName } from './ids.js';
import { toolUseId } from './thread-ids.js';
import type { AgentContent } from './thread-records.js';

interface InThread {
  thread_id: string;
}

export function toolUse({ thread_id }: InThread, event: EventOf<'tool_requested'>): AgentContent {
  const { run_id, tool_call_id = '', name, arguments: args, provider_meta } = event;
  return {
    content_type: 'tool_use',
    tool_name: toolName(name),
    tool_use_id: toolUseId(thread_id, run_id, tool_call_id),
    input: objectOf(args),
    raw_request: { name, arguments: args, ...(provider_meta === undefined ? {} : { provider_meta }) },
  };
}

export function toolResult({ thread_id }: InThread, event: EventOf<'tool_result'>): AgentContent {
  const { run_id, tool_call_id = '', name, duration_ms, content, output_ref, trimmed } = event;
  const declined = event.status === 'error' && event.failure.kind === 'denied' && name.startsWith('client.');
  return {
    content_type: 'tool_result',
    tool_name: toolName(name),
    tool_use_id: toolUseId(thread_id, run_id, tool_call_id),
    runtime_ms: Math.round(duration_ms),
    status: declined ? 'declined' : event.status,
    raw_response: {
      name,
      content,
      ...(event.status === 'error' ? { failure: event.failure } : {}),
      ...(output_ref === undefined ? {} : { output_ref }),
      ...(trimmed === undefined ? {} : { trimmed }),
    },
  };
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
