/** The conversation as a projection of the log: each event adds its message, or extends the last one. No zod here. */
import type { DurableEvent } from './events.js';
import { resultContent } from './tool-failure.js';
import type { AssistantMessage, BaseMessage, ToolCall } from './messages.js';

/**
 * Folds one event into the messages. Only the last message may change, and only while its batch of
 * `tool_requested` events is being appended; messages before it are final.
 */
export function foldTranscript(messages: BaseMessage[], event: DurableEvent): void {
  switch (event.type) {
    case 'run_started':
      messages.push({
        role: 'user',
        content: event.input,
        ...(event.input_name === undefined ? {} : { name: event.input_name }),
      });
      return;
    case 'reprompted':
      messages.push({ role: 'user', content: event.content, meta: { hidden: true } });
      return;
    case 'thinking_end':
      messages.push({ role: 'reasoning', content: event.text, ...metaOf(event) });
      return;
    case 'text_end':
      messages.push({
        role: 'assistant',
        content: isRefusal(event) ? null : event.text,
        ...(event.refusal === undefined ? {} : { refusal: event.refusal }),
        meta: { step_id: event.step_id, ...(event.interrupted === true ? { interrupted: true } : {}) },
        ...metaOf(event),
      });
      return;
    case 'summary_final':
      if (event.block_id !== undefined) messages.push({ role: 'assistant', content: event.text, ...metaOf(event) });
      return;
    case 'tool_requested':
      addCall(messages, event.step_id, {
        id: event.tool_call_id ?? '',
        type: 'function',
        function: { name: event.name, arguments: event.arguments },
        ...metaOf(event),
      });
      return;
    case 'tool_result':
      messages.push({
        role: 'tool',
        tool_call_id: event.tool_call_id ?? '',
        tool_name: event.name,
        content: resultContent(event),
        ...(event.status === 'error' ? { is_error: true } : {}),
        ...(event.output_ref === undefined ? {} : { output_ref: event.output_ref }),
        ...(event.trimmed === undefined ? {} : { trimmed: event.trimmed }),
      });
      return;
    default:
      return;
  }
}

export function projectTranscript(events: Iterable<DurableEvent>): BaseMessage[] {
  const messages: BaseMessage[] = [];
  for (const event of events) foldTranscript(messages, event);
  return messages;
}

/** Calls belong to the text of the same step; a step that said nothing gets a message without content. */
function addCall(messages: BaseMessage[], stepId: string | undefined, call: ToolCall): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && (last.meta as { step_id?: string } | undefined)?.step_id === stepId) {
    messages[messages.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] };
    return;
  }
  const message: AssistantMessage = { role: 'assistant', content: null, tool_calls: [call], meta: { step_id: stepId } };
  messages.push(message);
}

/** Up to 0.6 the text of a refusal was empty; one that came after a text was beside it. */
function isRefusal({ text, refusal }: { text: string; refusal?: string | undefined }): boolean {
  return refusal !== undefined && (text === '' || text === refusal);
}

function metaOf(event: { provider_meta?: unknown }): { provider_meta?: unknown } {
  return event.provider_meta === undefined ? {} : { provider_meta: event.provider_meta };
}
