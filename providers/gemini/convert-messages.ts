/**
 * Turns as Gemini's contents.
 *
 * 1. Signatures of thoughts go back in the part they came with. Reasoning without one is left out.
 * 2. A call of Gemini's own keeps its id, or has none; another vendor's call gets ours.
 * 3. Gemini 3 refuses a step whose first call is not signed; one that another vendor made says that it is foreign.
 * 4. Images of tool results follow in the same content: only the newest models take them inside.
 */
import type { Content, Part } from '@google/genai';
import { z } from 'zod';
import { PerdureError } from '../../contract/errors.js';
import type { AssistantMessage, ContentPart, ImagePart, ReasoningMessage, ToolCall } from '../../contract/messages.js';
import { argumentsOf, textOf, wordsOf, type AssistantTurn, type Conversation, type UserTurn } from '../conversation.js';
import { documentData, readImage } from '../media.js';
import type { ToolNames } from '../tool-names.js';

/** The word that Google gives for calls it has not made: https://ai.google.dev/gemini-api/docs/thought-signatures */
const FOREIGN_SIGNATURE = 'skip_thought_signature_validator';
const UNSIGNED_MODELS = /gemini-[12][.-]/;

export function convertTurns(turns: Conversation['turns'], names: ToolNames, model: string): Content[] {
  return turns
    .map((turn) =>
      turn.role === 'user'
        ? { role: 'user', parts: convertUser(turn, names) }
        : { role: 'model', parts: convertAssistant(turn, names, model) },
    )
    .filter(({ parts }) => parts.length > 0);
}

function convertUser({ results, parts }: UserTurn, names: ToolNames): Part[] {
  const responses = results.map(({ id, call, message }): Part => {
    const text = textOf(message.content);
    return {
      functionResponse: {
        ...idOf(id, call),
        name: names.toVendor(message.tool_name),
        response: message.is_error === true ? { error: text } : { output: text },
      },
    };
  });
  const images = results.flatMap(({ message: { content, tool_name } }): Part[] => {
    const found = typeof content === 'string' ? [] : content.filter((part) => part.type === 'image_url');
    if (found.length === 0) return [];
    return [{ text: `From the result of ${names.toVendor(tool_name)}:` }, ...found.map(convertImage)];
  });
  return [...responses, ...images, ...parts.flatMap(convertPart)];
}

function convertPart(part: ContentPart): Part[] {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ text: part.text }];
    case 'image_url':
      return [convertImage(part)];
    case 'document':
      return [{ inlineData: { mimeType: part.source.media_type, data: documentData(part) } }];
  }
}

const TYPE_BY_ENDING: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};

function convertImage(part: ImagePart): Part {
  const image = readImage(part, 'gemini');
  if ('data' in image) return { inlineData: { mimeType: image.media_type, data: image.data } };
  const ending = new URL(image.url).pathname.split('.').at(-1)?.toLowerCase() ?? '';
  const mimeType = image.media_type ?? TYPE_BY_ENDING[ending];
  if (mimeType !== undefined) return { fileData: { mimeType, fileUri: image.url } };
  const what = `The image ${image.url} cannot be sent to gemini, which wants the type of what it fetches: give it a media_type`;
  throw new PerdureError('model_bad_request', what, { provider: 'gemini' });
}

function convertAssistant({ said, calls }: AssistantTurn, names: ToolNames, model: string): Part[] {
  const parts = said.flatMap((message) => (message.role === 'reasoning' ? thoughtParts(message) : textParts(message)));
  const asked = [...calls.values()].map(({ id, call }) => callPart(id, call, names));
  const [first] = asked;
  if (first !== undefined && !UNSIGNED_MODELS.test(model) && !asked.some((part) => part.thoughtSignature !== undefined))
    first.thoughtSignature = FOREIGN_SIGNATURE;
  return [...parts, ...asked];
}

const OwnMeta = z.object({ gemini: z.object({ id: z.string().optional(), thought_signature: z.string().optional() }) });

function ownMeta(providerMeta: unknown): z.infer<typeof OwnMeta>['gemini'] | undefined {
  return OwnMeta.safeParse(providerMeta).data?.gemini;
}

function thoughtParts({ content, provider_meta }: ReasoningMessage): Part[] {
  const signature = ownMeta(provider_meta)?.thought_signature;
  return signature === undefined ? [] : [{ text: content, thought: true, thoughtSignature: signature }];
}

function textParts(message: AssistantMessage): Part[] {
  const text = wordsOf(message);
  if (text.trim() === '') return [];
  return [{ text, ...signatureOf(message) }];
}

function callPart(id: string, call: ToolCall, names: ToolNames): Part {
  return {
    functionCall: { ...idOf(id, call), name: names.toVendor(call.function.name), args: argumentsOf(call) },
    ...signatureOf(call),
  };
}

function signatureOf({ provider_meta }: { provider_meta?: unknown }): { thoughtSignature?: string } {
  const signature = ownMeta(provider_meta)?.thought_signature;
  return signature === undefined ? {} : { thoughtSignature: signature };
}

function idOf(ours: string, call: ToolCall | undefined): { id?: string } {
  const own = ownMeta(call?.provider_meta);
  if (own === undefined) return { id: ours };
  return own.id === undefined ? {} : { id: own.id };
}
