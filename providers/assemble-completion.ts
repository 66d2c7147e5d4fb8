/**
 * Folds a vendor's normalised stream into a completion, piece by piece.
 *
 * 1. Each stretch of text, reasoning or refusal is a block, numbered from 1, and becomes one message with
 *    `meta: { block }`.
 * 2. A message's text, or its refusal, is the concatenation of its block's deltas; empty deltas are dropped.
 * 3. Tool calls come last, in the last message if it is an assistant's, else in one without content: their results
 *    must follow them directly, and reasoning that led to them must come before.
 * 4. Before `finish`, a call is kept only if its arguments are a whole JSON object (no proper prefix of one is).
 */
import type { ChatInvokeCompletion } from '../contract/completion.js';
import type { AssistantMessage, BaseMessage, ToolCall } from '../contract/messages.js';
import type { ModelStreamPart } from '../contract/model-provider.js';

/** Where a delta of text, reasoning or refusal belongs; to readers a refusal is a text. */
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
  isRefusal: boolean;
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

  function startBlock(kind: Block['kind'], isRefusal = false): Block {
    const block: Block = { kind, n: blocks.length + 1, text: '', chunks: 0, isRefusal };
    blocks.push(block);
    return block;
  }

  function addDelta(part: 'text' | 'reasoning' | 'refusal', delta: string): BlockDelta | undefined {
    if (delta === '') return undefined;
    const kind = part === 'reasoning' ? 'thinking' : 'text';
    open = open?.part === part ? open : { block: startBlock(kind, part === 'refusal'), part };
    const { block } = open;
    block.text += delta;
    block.chunks += 1;
    return { kind, n: block.n, opened: block.chunks === 1, index: block.chunks - 1 };
  }

  /** Closes its stretch. Without one to sign (reasoning that the vendor hides) it makes a message without text. */
  function sign(providerMeta: unknown): void {
    const last = blocks.findLast((block) => block.kind === 'thinking');
    const block = last !== undefined && last.provider_meta === undefined ? last : startBlock('thinking');
    block.provider_meta = providerMeta;
    if (open?.part === 'reasoning') open = undefined;
  }

  function signText(providerMeta: unknown): void {
    const block = blocks.findLast(({ kind, isRefusal }) => kind === 'text' && !isRefusal);
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
        case 'refusal':
          return addDelta(part.type, part.delta);
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
  if (block.isRefusal) return { role: 'assistant', content: null, refusal: block.text, meta };
  if (block.kind === 'text') return { role: 'assistant', content: block.text, meta, ...metaOf(block) };
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
