/**
 * Chunks of a Chat Completions stream → normalised parts.
 *
 * 1. `finish` is sent when the vendor's stream is over, since the usage comes in a chunk of its own after the reason.
 * 2. No finish_reason: the stream was cut. No content either: it was empty. The two are different errors.
 * 3. Once there is a finish_reason the answer is whole; what breaks after it costs the usage, not the answer.
 * 4. A server that does not keep to the limit of the answer is cut off, far beyond it: it may never end.
 * 5. Of a server that says nothing of usage it is estimated.
 */
import type { ChatInvokeUsage } from '../../contract/completion.js';
import { PerdureError } from '../../contract/errors.js';
import type { ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { createOutputCount, estimateUsage } from '../estimate-usage.js';
import { checkEnd, cut, noteArrival, present, type Arrived } from '../stop-reason.js';
import type { ToolNames } from '../tool-names.js';
import { askedLimit } from './build-request.js';
import { Chunk, type Choice, type UsageReply } from './chunk.js';
import { convertUsage } from './convert-usage.js';
import { mapStopReason } from './map-stop-reason.js';
import { createCallSorter } from './tool-call-pieces.js';

/** Servers that fail after they have begun say so in the reason. */
const BROKEN_REASONS = new Set(['error', 'abort']);

/** Our count is an estimate, so only what is far from it is taken for certain. */
const FAR_TIMES = 3;
const FAR_TOKENS = 100;

interface Seen extends Arrived {
  id?: string;
  model: string;
  system_fingerprint?: string;
  finish_reason?: string;
  usage?: UsageReply;
  /** The limit that it was cut off for. */
  cut_at_tokens?: number;
  /** The stream broke after its answer: what is not there may have been on its way. */
  broke?: true;
}

/** `onIgnoredLimit` is called when the answer is far longer than was asked for. */
export async function* readStream(
  chunks: AsyncIterable<unknown>,
  request: ModelRequest,
  names: ToolNames,
  onIgnoredLimit: () => void,
): AsyncGenerator<ModelStreamPart> {
  const { model } = request;
  const seen: Seen = { model, content: false, toolCalls: false, refusal: false };
  const readChoice = createChoiceReader(names);
  const output = createOutputCount();
  const limit = askedLimit(request);
  try {
    for await (const raw of chunks) {
      const chunk = parseChunk(raw, model);
      note(seen, chunk);
      const choice = chunk.choices?.find(({ index }) => (index ?? 0) === 0);
      if (choice === undefined) continue;
      for (const part of readChoice(choice)) {
        noteArrival(seen, part);
        output.add(part);
        yield part;
      }
      if (choice.finish_reason) seen.finish_reason = choice.finish_reason;
      if (limit === undefined || output.answerTokens() <= limit * FAR_TIMES + FAR_TOKENS) continue;
      onIgnoredLimit();
      if (seen.finish_reason !== undefined) continue;
      seen.cut_at_tokens = limit;
      break;
    }
  } catch (error) {
    if (seen.finish_reason === undefined) throw error;
    seen.broke = true;
  }
  yield finishOf(seen, request, output.tokens());
}

function createChoiceReader(names: ToolNames): (choice: Choice) => Generator<ModelStreamPart> {
  const sortCall = createCallSorter();
  return function* ({ delta }) {
    // A server that sends both names sends the same text twice.
    const reasoning = delta?.reasoning_content || delta?.reasoning;
    if (typeof reasoning === 'string' && reasoning !== '') yield { type: 'reasoning', delta: reasoning };
    if (delta?.content) yield { type: 'text', delta: delta.content };
    if (delta?.refusal) yield { type: 'refusal', delta: delta.refusal };
    for (const callDelta of delta?.tool_calls ?? []) {
      const { index, name, id, arguments_delta } = sortCall(callDelta);
      if (name === undefined && id === undefined && arguments_delta === '') continue;
      yield {
        type: 'tool_call',
        index,
        ...(name === undefined ? {} : { name: names.fromVendor(name) }),
        ...(arguments_delta === '' ? {} : { arguments_delta }),
        ...(id === undefined ? {} : { provider_meta: { openai: { id } } }),
      };
    }
  };
}

function parseChunk(raw: unknown, model: string): Chunk {
  const parsed = Chunk.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
  const what = `Model ${model} sent a chunk that is none of Chat Completions (${where})`;
  throw new PerdureError('model_server_error', what, { provider: 'openai' });
}

function note(seen: Seen, chunk: Chunk): void {
  if (chunk.id) seen.id ??= chunk.id;
  if (chunk.model) seen.model = chunk.model;
  if (chunk.system_fingerprint) seen.system_fingerprint = chunk.system_fingerprint;
  if (chunk.usage) seen.usage = chunk.usage;
}

function finishOf(seen: Seen, request: ModelRequest, written: number): ModelStreamPart {
  const { finish_reason: reason, model, cut_at_tokens } = seen;
  const from = `The stream of model ${model}${seen.id === undefined ? '' : ` (${seen.id})`}`;
  if (reason !== undefined && BROKEN_REASONS.has(reason))
    throw cut('openai', `${from} ended with finish_reason ${reason}`);
  const stopReason = mapStopReason(reason ?? '', seen);
  if (cut_at_tokens === undefined) checkEnd('openai', from, reason, stopReason, seen);
  const reasoningTokens = seen.usage?.completion_tokens_details?.reasoning_tokens;
  const meta = {
    id: seen.id,
    finish_reason: reason,
    system_fingerprint: seen.system_fingerprint,
    reasoning_tokens: reasoningTokens,
    cut_at_tokens,
  };
  return {
    type: 'finish',
    stop_reason: cut_at_tokens === undefined ? stopReason : 'max_tokens',
    usage: usageOf(seen, request, written),
    provider_meta: { openai: present(meta) },
  };
}

function usageOf({ model, usage, broke }: Seen, request: ModelRequest, written: number): ChatInvokeUsage | null {
  // It would have come after what broke: an estimate would be less than what is reserved for such a call.
  if (usage === undefined && broke === true) return null;
  const told = usage === undefined ? undefined : convertUsage(model, usage);
  const estimated = estimateUsage(model, request, written);
  if (told === undefined || told.total_tokens === 0) return estimated;
  // Some servers count what they read, and say nothing of what they wrote.
  if (told.output_tokens > 0 || written === 0) return told;
  return { ...told, output_tokens: written, total_tokens: told.input_tokens + written, estimated: true };
}
