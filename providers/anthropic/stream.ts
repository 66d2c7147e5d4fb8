/**
 * Events of a Messages stream → normalised parts.
 *
 * 1. A block of thinking is signed when it ends; redacted thinking, and thinking whose text is not shown, is a
 *    signature without text.
 * 2. `finish` is sent when the stream is over. Without a stop_reason it was cut, or empty.
 * 3. Once there is a stop_reason the answer is whole, whatever breaks after it.
 */
import { PerdureError } from '../../contract/errors.js';
import type { ModelStreamPart } from '../../contract/model-provider.js';
import { checkEnd, noteArrival, present, type Arrived } from '../stop-reason.js';
import type { ToolNames } from '../tool-names.js';
import { convertUsage } from './convert-usage.js';
import { mapStopReason } from './map-stop-reason.js';
import { StreamEvent, type ContentBlock, type UsageReply } from './stream-event.js';

type MessageDelta = Extract<StreamEvent, { type: 'message_delta' }>['delta'];

interface Seen extends Arrived {
  id?: string;
  model: string;
  end?: MessageDelta;
  usage?: UsageReply;
}

export async function* readStream(
  events: AsyncIterable<unknown>,
  model: string,
  names: ToolNames,
): AsyncGenerator<ModelStreamPart> {
  const seen: Seen = { model, content: false, toolCalls: false, refusal: false };
  const readBlocks = createBlockReader(names);
  let spoke = false;
  try {
    for await (const raw of events) {
      const event = parseEvent(raw, model);
      note(seen, event);
      for (const part of readBlocks(event)) {
        noteArrival(seen, part);
        spoke ||= part.type === 'text';
        yield part;
      }
    }
  } catch (error) {
    if (!seen.end?.stop_reason) throw error;
  }
  const refusal = refusalOf(seen.end, spoke);
  if (refusal !== undefined) {
    noteArrival(seen, refusal);
    yield refusal;
  }
  yield finishOf(seen);
}

function createBlockReader(names: ToolNames): (event: StreamEvent) => Generator<ModelStreamPart> {
  const open = new Map<number, { block: ContentBlock; call: number; signature: string; written: boolean }>();
  let calls = 0;
  return function* (event) {
    if (event.type === 'content_block_start') {
      const { content_block: block } = event;
      const call = block.type === 'tool_use' ? calls++ : -1;
      open.set(event.index, { block, call, signature: '', written: false });
      if (block.type === 'text' && block.text) yield { type: 'text', delta: block.text };
      if (block.type === 'thinking' && block.thinking) yield { type: 'reasoning', delta: block.thinking };
      if (block.type === 'redacted_thinking')
        yield { type: 'reasoning_meta', provider_meta: { anthropic: { redacted_data: block.data } } };
      if (block.type === 'tool_use')
        yield {
          type: 'tool_call',
          index: call,
          name: names.fromVendor(block.name),
          ...(block.id ? { provider_meta: { anthropic: { id: block.id } } } : {}),
        };
      return;
    }
    if (event.type === 'content_block_delta') {
      const at = open.get(event.index);
      const { delta } = event;
      if (delta.type === 'text_delta') yield { type: 'text', delta: delta.text };
      if (delta.type === 'thinking_delta') yield { type: 'reasoning', delta: delta.thinking };
      if (at !== undefined && delta.type === 'signature_delta') at.signature += delta.signature;
      if (at !== undefined && delta.type === 'input_json_delta' && delta.partial_json !== '') {
        at.written = true;
        yield { type: 'tool_call', index: at.call, arguments_delta: delta.partial_json };
      }
      return;
    }
    const ended = event.type === 'content_block_stop' ? open.get(event.index) : undefined;
    if (ended?.block.type === 'thinking') {
      const signature = ended.signature || ended.block.signature;
      if (signature) yield { type: 'reasoning_meta', provider_meta: { anthropic: { signature } } };
    }
    // A call without input is written without a delta; some servers send the input whole, where the block begins.
    if (ended?.block.type === 'tool_use' && !ended.written)
      yield { type: 'tool_call', index: ended.call, arguments_delta: JSON.stringify(ended.block.input ?? {}) };
  };
}

function parseEvent(raw: unknown, model: string): StreamEvent {
  const parsed = StreamEvent.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
  const what = `Model ${model} sent an event that this adapter does not know (${where})`;
  throw new PerdureError('model_server_error', what, { provider: 'anthropic' });
}

function note(seen: Seen, event: StreamEvent): void {
  if (event.type === 'message_start') {
    const { id, model, usage } = event.message;
    if (id) seen.id = id;
    if (model) seen.model = model;
    if (usage) seen.usage = usage;
  }
  if (event.type === 'message_delta') {
    if (event.delta.stop_reason) seen.end = event.delta;
    // Cumulative; what it leaves out was said at the start.
    if (event.usage) seen.usage = { ...seen.usage, ...present(event.usage) };
  }
}

/** It may come in the middle of an answer: then what was said by then stands apart from it. */
function refusalOf(end: MessageDelta | undefined, spoke: boolean): ModelStreamPart | undefined {
  if (end?.stop_reason !== 'refusal') return undefined;
  const { explanation, category } = end.stop_details ?? {};
  const why = category ? ` (${category})` : '';
  const text = explanation || `The model declined to answer${why}.`;
  return { type: 'refusal', delta: spoke ? `\n\n${text}` : text };
}

function finishOf(seen: Seen): ModelStreamPart {
  const { end, model, usage } = seen;
  const reason = end?.stop_reason ?? undefined;
  const stopReason = mapStopReason(reason ?? '', seen);
  const from = `The stream of model ${model}${seen.id === undefined ? '' : ` (${seen.id})`}`;
  checkEnd('anthropic', from, reason, stopReason, seen);
  const meta = {
    id: seen.id,
    stop_reason: reason,
    stop_sequence: end?.stop_sequence,
    category: end?.stop_details?.category,
    thinking_tokens: usage?.output_tokens_details?.thinking_tokens,
  };
  return {
    type: 'finish',
    stop_reason: stopReason,
    usage: usage === undefined ? null : convertUsage(model, usage),
    provider_meta: { anthropic: present(meta) },
  };
}
