/**
 * A tool call and its result as blocks of a thread's messages. No zod here.
 *
 * B1  `raw_response` is the tool's own: published clients hand it to their users. What models are told is beside it.
 * B2  Nothing is stored twice: a content that `raw_response` or the failure say already is left out, and made of them
 *     again when it is read.
 */
import type { EventOf } from './events.js';
import { toolName } from './ids.js';
import type { ToolContent } from './messages.js';
import { toolUseId } from './thread-ids.js';
import type { AgentContent, AgentToolResultContent } from './thread-records.js';
import { failureText } from './tool-failure.js';

interface InThread {
  thread_id: string;
}

type Json = Record<string, unknown>;

export function toolUse({ thread_id }: InThread, event: EventOf<'tool_requested'>): AgentContent {
  const { run_id, tool_call_id = '', name, arguments: args, provider_meta } = event;
  return {
    content_type: 'tool_use',
    tool_name: toolName(name),
    tool_use_id: toolUseId(thread_id, run_id, tool_call_id),
    input: args.trim() === '' ? {} : parseObject(args),
    raw_request: { name, arguments: args, ...(provider_meta === undefined ? {} : { provider_meta }) },
  };
}

export function toolResult({ thread_id }: InThread, event: EventOf<'tool_result'>): AgentContent {
  const { run_id, tool_call_id = '', name, duration_ms, content, output_ref, trimmed } = event;
  const isClient = name.startsWith('client.');
  const declined = event.status === 'error' && event.failure.kind === 'denied' && isClient;
  const failure = event.status === 'error' ? event.failure : undefined;
  const raw_response =
    event.status === 'success'
      ? wrapped(event.value === undefined ? content : event.value)
      : wrongly(event.failure.message, isClient);
  const implied = failure === undefined ? saidBy(raw_response) : failureText(failure);
  return {
    content_type: 'tool_result',
    tool_name: toolName(name),
    tool_use_id: toolUseId(thread_id, run_id, tool_call_id),
    runtime_ms: Math.round(duration_ms),
    status: declined ? 'declined' : event.status,
    raw_response,
    told: {
      name,
      ...(isSame(implied, content) ? {} : { content }),
      ...(failure === undefined ? {} : { failure }),
      ...(output_ref === undefined ? {} : { output_ref }),
      ...(trimmed === undefined ? {} : { trimmed }),
    },
  };
}

/** What models are told of a result, whichever release has stored it. */
export function toldOf(block: AgentToolResultContent): NonNullable<AgentToolResultContent['told']> & {
  content: ToolContent;
} {
  const { tool_name, raw_response, told } = block;
  if (told === undefined) {
    const old = (raw_response ?? {}) as Partial<NonNullable<AgentToolResultContent['told']>>;
    return { ...old, name: old.name ?? tool_name, content: old.content ?? '' };
  }
  const { content, failure } = told;
  return { ...told, content: content ?? (failure === undefined ? saidBy(raw_response ?? {}) : failureText(failure)) };
}

/** The reader's types have a place for objects only. */
export function wrapped(value: unknown): Json {
  return isObject(value) ? value : { result: value };
}

/** An object that a client reported as its error is its own too. */
function wrongly(message: string, isClient: boolean): Json {
  return (isClient ? parseObject(message) : null) ?? { error: message };
}

/** For one that a caller gives: what it says is a text, and is written out where it would be read as something else. */
export function asText(raw: Json): { content?: string } {
  const content = saidBy(raw);
  return typeof content === 'string' ? {} : { content: JSON.stringify(content) };
}

function saidBy(raw: Json): ToolContent {
  const isWrapped = Object.keys(raw).length === 1 && Object.hasOwn(raw, 'result');
  const value = isWrapped ? raw['result'] : raw;
  return typeof value === 'string' || isParts(value) ? value : (JSON.stringify(value) ?? '');
}

/** A list that looks like this is never a tool's value: it is taken for what the model is to see. */
function isParts(value: unknown): value is Exclude<ToolContent, string> {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((part: unknown) => isObject(part) && (part['type'] === 'text' || part['type'] === 'image_url'))
  );
}

function isSame(a: ToolContent, b: ToolContent): boolean {
  return typeof a === 'string' || typeof b === 'string' ? a === b : JSON.stringify(a) === JSON.stringify(b);
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
