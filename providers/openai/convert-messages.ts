/**
 * The transcript as Chat Completions messages.
 *
 * 1. A message with tool calls is followed by the results of its batch and nothing else: adjacent assistant messages
 *    become one, and images of results follow in a user message after the whole batch.
 * 2. Tool calls keep our ids, which are unique; the vendor's own may repeat.
 */
import type OpenAI from 'openai';
import { readDataUrl } from '../../contract/data-url.js';
import type {
  AssistantMessage,
  BaseMessage,
  ContentPart,
  ImagePart,
  ReasoningMessage,
  ToolMessage,
} from '../../contract/messages.js';
import { documentData } from '../media.js';
import type { ToolNames } from '../tool-names.js';

type VendorMessage = OpenAI.ChatCompletionMessageParam;
type VendorPart = OpenAI.ChatCompletionContentPart;

export function convertMessages(messages: readonly BaseMessage[], names: ToolNames): VendorMessage[] {
  const converted: VendorMessage[] = [];
  let images: VendorPart[] = [];
  const flushImages = () => {
    if (images.length > 0) converted.push({ role: 'user', content: images });
    images = [];
  };
  for (const message of joinSpeech(messages)) {
    if (message.role !== 'tool') flushImages();
    switch (message.role) {
      case 'system':
        converted.push({ role: 'system', content: message.content, ...nameOf(message) });
        break;
      case 'user':
        converted.push({ role: 'user', content: convertContent(message.content), ...nameOf(message) });
        break;
      case 'assistant':
        converted.push(convertAssistant(message, names));
        break;
      case 'tool':
        converted.push({ role: 'tool', tool_call_id: message.tool_call_id, content: toolText(message) });
        images.push(...toolImages(message, names));
        break;
    }
  }
  flushImages();
  return converted;
}

type SentMessage = Exclude<BaseMessage, ReasoningMessage>;

/**
 * Reasoning is not sent back: Chat Completions has no field for it. OpenAI gives none out here, and of the compatible
 * servers that do some refuse a request that repeats it (DeepSeek's reasoner). What it stood between becomes one
 * message, with the calls at its end.
 */
function joinSpeech(messages: readonly BaseMessage[]): SentMessage[] {
  const joined: SentMessage[] = [];
  for (const message of messages) {
    if (message.role === 'reasoning') continue;
    const last = joined.at(-1);
    if (message.role === 'assistant' && last?.role === 'assistant') joined[joined.length - 1] = join(last, message);
    else joined.push(message);
  }
  return joined.filter((message) => message.role !== 'assistant' || saysSomething(message));
}

function join(first: AssistantMessage, second: AssistantMessage): AssistantMessage {
  return {
    ...first,
    content:
      [first.content ?? '', second.content ?? ''].filter(Boolean).join(isCut(first, second) ? '' : '\n\n') || null,
    refusal: (first.refusal ?? '') + (second.refusal ?? ''),
    tool_calls: [...(first.tool_calls ?? []), ...(second.tool_calls ?? [])],
  };
}

/** An answer that another step of its run goes on with, and nothing between them: it was cut, in mid-word perhaps. */
function isCut(first: AssistantMessage, second: AssistantMessage): boolean {
  const [before, after] = [first, second].map(({ meta }) => (meta as { step_id?: string } | undefined)?.step_id);
  return isStep(before) && isStep(after) && before !== after && (first.tool_calls ?? []).length === 0;
}

/** Of a run: what a thread has from before has steps of another name. */
function isStep(id: string | undefined): boolean {
  return id !== undefined && /^step_\d+$/.test(id);
}

function saysSomething({ content, refusal, tool_calls: calls }: AssistantMessage): boolean {
  return Boolean(content) || Boolean(refusal) || (calls ?? []).length > 0;
}

function convertAssistant(message: AssistantMessage, names: ToolNames): VendorMessage {
  const calls = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: names.toVendor(call.function.name), arguments: call.function.arguments },
  }));
  return {
    role: 'assistant',
    content: message.content || null,
    ...nameOf(message),
    ...(message.refusal ? { refusal: message.refusal } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function convertContent(content: string | readonly ContentPart[]): string | VendorPart[] {
  return typeof content === 'string' ? content : content.map(convertPart);
}

function convertPart(part: ContentPart): VendorPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url':
      return convertImage(part);
    case 'document': {
      const file_data = `data:${part.source.media_type};base64,${documentData(part)}`;
      // OpenAI refuses a file without a name.
      return { type: 'file', file: { filename: 'document.pdf', file_data } };
    }
  }
}

function convertImage({ image_url }: ImagePart): VendorPart {
  const { detail, media_type = '' } = image_url;
  const inline = readDataUrl(image_url.url);
  // Others who speak this API take types that OpenAI does not: which, only they know.
  const url = inline === undefined ? image_url.url : `data:${inline.media_type || media_type};base64,${inline.base64}`;
  return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } };
}

/** Tool messages take text only. */
function toolText({ content }: ToolMessage): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '[image: in the next user message]')).join('\n');
}

function toolImages(message: ToolMessage, names: ToolNames): VendorPart[] {
  if (typeof message.content === 'string') return [];
  const images = message.content.filter((part) => part.type === 'image_url');
  if (images.length === 0) return [];
  const text = `From the result of ${names.toVendor(message.tool_name)} (${message.tool_call_id}):`;
  return [{ type: 'text', text }, ...images.map(convertImage)];
}

/** OpenAI refuses spaces and some punctuation in a participant's name. */
function nameOf({ name }: { name?: string | undefined }): { name?: string } {
  const safe = name?.replaceAll(/[\s<|\\/>]+/g, '_').slice(0, 64);
  return safe === undefined || safe === '' ? {} : { name: safe };
}
