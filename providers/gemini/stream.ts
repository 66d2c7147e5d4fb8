/**
 * Chunks of a generateContent stream → normalised parts.
 *
 * 1. A part is whole: a call comes with all its arguments, and a signature belongs to the part that has it. One that
 *    comes with an empty text is that of the text before it.
 * 2. `finish` is sent when the stream is over. Without a finishReason it was cut, or empty, or the prompt was blocked.
 * 3. Once there is a finishReason the answer is whole; what breaks after it does not matter.
 */
import { PerdureError } from '../../contract/errors.js';
import type { ModelStreamPart } from '../../contract/model-provider.js';
import { checkEnd, noteArrival, present, type Arrived } from '../stop-reason.js';
import type { ToolNames } from '../tool-names.js';
import { Chunk, type Part, type UsageReply } from './chunk.js';
import { convertUsage } from './convert-usage.js';
import { isBrokenCall, isDeclined, mapStopReason } from './map-stop-reason.js';

interface Seen extends Arrived {
  id?: string;
  model: string;
  finish_reason?: string;
  block_reason?: string;
  usage?: UsageReply;
}

export async function* readStream(
  chunks: AsyncIterable<unknown>,
  model: string,
  names: ToolNames,
): AsyncGenerator<ModelStreamPart> {
  const seen: Seen = { model, content: false, toolCalls: false, refusal: false };
  let calls = 0;
  try {
    for await (const raw of chunks) {
      const chunk = parseChunk(raw, model);
      note(seen, chunk);
      const candidate = chunk.candidates?.find(({ index }) => (index ?? 0) === 0);
      for (const part of candidate?.content?.parts ?? []) {
        for (const piece of readPart(part, calls, names)) {
          if (piece.type === 'tool_call') calls += 1;
          // A signature alone is no content.
          if (piece.type !== 'text' || piece.delta !== '') noteArrival(seen, piece);
          yield piece;
        }
      }
      if (candidate?.finishReason) seen.finish_reason = candidate.finishReason;
    }
  } catch (error) {
    if (seen.finish_reason === undefined) throw error;
  }
  const refusal = refusalOf(seen);
  if (refusal !== undefined) {
    noteArrival(seen, refusal);
    yield refusal;
  }
  yield finishOf(seen);
}

function* readPart(part: Part, index: number, names: ToolNames): Generator<ModelStreamPart> {
  const { text, thought, thoughtSignature: signature, functionCall } = part;
  const signed = { gemini: present({ thought_signature: signature }) };
  if (functionCall) {
    const { id, name, args } = functionCall;
    yield {
      type: 'tool_call',
      index,
      name: names.fromVendor(name ?? ''),
      arguments_delta: JSON.stringify(args ?? {}),
      provider_meta: { gemini: present({ id, thought_signature: signature }) },
    };
  } else if (thought === true) {
    if (text) yield { type: 'reasoning', delta: text };
    if (signature) yield { type: 'reasoning_meta', provider_meta: signed };
  } else if (text || signature) {
    yield { type: 'text', delta: text ?? '', ...(signature ? { provider_meta: signed } : {}) };
  }
}

function parseChunk(raw: unknown, model: string): Chunk {
  const parsed = Chunk.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
  const what = `Model ${model} sent a chunk that is none of generateContent (${where})`;
  throw new PerdureError('model_server_error', what, { provider: 'gemini' });
}

function note(seen: Seen, chunk: Chunk): void {
  if (chunk.responseId) seen.id ??= chunk.responseId;
  if (chunk.modelVersion) seen.model = chunk.modelVersion;
  if (chunk.usageMetadata) seen.usage = chunk.usageMetadata;
  if (chunk.promptFeedback?.blockReason) seen.block_reason = chunk.promptFeedback.blockReason;
}

function refusalOf(seen: Seen): ModelStreamPart | undefined {
  if (seen.content) return undefined;
  const reason = seen.block_reason ?? (isDeclined(seen.finish_reason) ? seen.finish_reason : undefined);
  if (reason === undefined) return undefined;
  return { type: 'refusal', delta: `The model declined to answer (${reason}).` };
}

function finishOf(seen: Seen): ModelStreamPart {
  const { model, usage } = seen;
  const from = `The stream of model ${model}${seen.id === undefined ? '' : ` (${seen.id})`}`;
  const reason = seen.finish_reason ?? seen.block_reason;
  if (isBrokenCall(reason))
    throw new PerdureError('model_server_error', `${from} ended with ${reason}`, { provider: 'gemini' });
  const stopReason = mapStopReason(reason ?? '', seen);
  checkEnd('gemini', from, reason, stopReason, seen);
  const meta = {
    id: seen.id,
    finish_reason: seen.finish_reason,
    block_reason: seen.block_reason,
    thoughts_tokens: usage?.thoughtsTokenCount,
  };
  return {
    type: 'finish',
    stop_reason: stopReason,
    usage: usage === undefined ? null : convertUsage(model, usage),
    provider_meta: { gemini: present(meta) },
  };
}
