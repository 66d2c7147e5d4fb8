/**
 * Folds a vendor's normalised stream into a completion, piece by piece.
 *
 * 1. Each stretch of text or reasoning is a block, numbered from 1, and becomes one message with `meta: { block }`.
 * 2. A message's text is the concatenation of its block's deltas; empty deltas are dropped.
 * 3. Tool calls come last, in the last message if it is an assistant's, else in one without content: their results
 *    must follow them directly, and reasoning that led to them must come before.
 * 4. Before `finish`, a call is kept only if its arguments are a whole JSON object (no proper prefix of one is).
 */
import type { ChatInvokeCompletion } from '../contract/completion.js';
import type { AssistantMessage, BaseMessage, ToolCall } from '../contract/messages.js';
import type { ModelStreamPart } from '../contract/model-provider.js';

/** Where a delta of text or reasoning belongs. */
export interface BlockDelta {
  kind: 'text' | 'thinking';
  /** Counts the blocks of the call from 1. */
  n: number;
  /** This delta is the block's first. */
  opened: boolean;
  /** Counts the deltas of the block from 0. */
  index: number;
}

export interface CompletionAssembler {
  add(part: ModelStreamPart): BlockDelta | undefined;
  /** All that has arrived, also in the middle of a stream. */
  completion(): ChatInvokeCompletion;
  /** No text, reasoning, refusal or tool call has arrived. */
  isEmpty(): boolean;
}

interface Block {
  kind: 'text' | 'thinking';
  n: number;
  text: string;
  chunks: number;
  refusal: string;
  provider_meta?: unknown;
}

interface PartialCall {
  name: string;
  arguments: string;
  provider_meta?: unknown;
}

type Finish = Extract<ModelStreamPart, { type: 'finish' }>;

export function createAssembler(): CompletionAssembler {
  const blocks: Block[] = [];
  const calls = new Map<number, PartialCall>();
  let open: { block: Block; part: 'text' | 'reasoning' | 'refusal' } | undefined;
  let finish: Finish | undefined;

  function startBlock(kind: Block['kind']): Block {
    const block: Block = { kind, n: blocks.length + 1, text: '', chunks: 0, refusal: '' };
    blocks.push(block);
    return block;
  }

  function addDelta(part: 'text' | 'reasoning', delta: string): BlockDelta | undefined {
    if (delta === '') return undefined;
    const kind = part === 'text' ? 'text' : 'thinking';
    open = open?.part === part ? open : { block: startBlock(kind), part };
    const { block } = open;
    block.text += delta;
    block.chunks += 1;
    return { kind, n: block.n, opened: block.chunks === 1, index: block.chunks - 1 };
  }

  /** A refusal belongs to the text before it; one that comes alone has a block of its own, without deltas. */
  function addRefusal(delta: string): void {
    if (delta === '') return;
    const last = blocks.at(-1);
    open =
      open?.part === 'refusal' ? open : { block: last?.kind === 'text' ? last : startBlock('text'), part: 'refusal' };
    open.block.refusal += delta;
  }

  /** Closes its stretch. Without one to sign (reasoning that the vendor hides) it makes a message without text. */
  function sign(providerMeta: unknown): void {
    const last = blocks.findLast((block) => block.kind === 'thinking');
    const block = last !== undefined && last.provider_meta === undefined ? last : startBlock('thinking');
    block.provider_meta = providerMeta;
    if (open?.part === 'reasoning') open = undefined;
  }

  function signText(providerMeta: unknown): void {
    const block = blocks.findLast(({ kind }) => kind === 'text');
    if (block !== undefined) block.provider_meta = providerMeta;
  }

  function addCall(part: Extract<ModelStreamPart, { type: 'tool_call' }>): void {
    open = undefined;
    const call = calls.get(part.index) ?? { name: '', arguments: '' };
    calls.set(part.index, call);
    if (call.name === '') call.name = part.name ?? '';
    call.arguments += part.arguments_delta ?? '';
    if (part.provider_meta !== undefined) call.provider_meta = part.provider_meta;
  }

  return {
    add(part) {
      switch (part.type) {
        case 'text': {
          const delta = addDelta(part.type, part.delta);
          if (part.provider_meta !== undefined) signText(part.provider_meta);
          return delta;
        }
        case 'reasoning':
          return addDelta(part.type, part.delta);
        case 'refusal':
          addRefusal(part.delta);
          return undefined;
        case 'reasoning_meta':
          sign(part.provider_meta);
          return undefined;
        case 'tool_call':
          addCall(part);
          return undefined;
        case 'finish':
          open = undefined;
          finish = part;
          return undefined;
      }
    },
    completion() {
      const kept = [...calls.values()].filter((call) => finish !== undefined || isJsonObject(call.arguments));
      return {
        messages: withCalls(blocks.map(toMessage), kept.map(toToolCall)),
        usage: finish?.usage ?? null,
        stop_reason: finish?.stop_reason ?? null,
        ...(finish?.provider_meta === undefined ? {} : { provider_meta: finish.provider_meta }),
      };
    },
    isEmpty: () => blocks.length === 0 && calls.size === 0,
  };
}

function toMessage(block: Block): BaseMessage {
  const meta = { block: block.n };
  if (block.kind === 'text') {
    const content = block.text === '' ? null : block.text;
    const refusal = block.refusal === '' ? {} : { refusal: block.refusal };
    return { role: 'assistant', content, ...refusal, meta, ...metaOf(block) };
  }
  return { role: 'reasoning', content: block.text, meta, ...metaOf(block) };
}

/** The runtime mints the id when it commits the call; the vendor's own is in `provider_meta`. */
function toToolCall(call: PartialCall): ToolCall {
  return { id: '', type: 'function', function: { name: call.name, arguments: call.arguments }, ...metaOf(call) };
}

function withCalls(messages: BaseMessage[], calls: ToolCall[]): BaseMessage[] {
  if (calls.length === 0) return messages;
  const last = messages.at(-1);
  const carrier: AssistantMessage = last?.role === 'assistant' ? last : { role: 'assistant', content: null };
  const before = carrier === last ? messages.slice(0, -1) : messages;
  return [...before, { ...carrier, tool_calls: calls }];
}

function metaOf(from: { provider_meta?: unknown }): { provider_meta?: unknown } {
  return from.provider_meta === undefined ? {} : { provider_meta: from.provider_meta };
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
