/**
 * Turns as Messages.
 *
 * 1. Thinking goes back exactly as it came, with its signature, redacted thinking too; reasoning of other vendors is
 *    left out, since Anthropic refuses what it has not signed. A turn never ends in thinking.
 * 2. No text block is blank: Anthropic refuses those.
 */
import type Anthropic from '@anthropic-ai/sdk';
import { z } from 'zod';
import type { ContentPart, ReasoningMessage, ToolMessage } from '../../contract/messages.js';
import { argumentsOf, wordsOf, type AssistantTurn, type Conversation, type UserTurn } from '../conversation.js';
import { documentData, readImage } from '../media.js';
import type { ToolNames } from '../tool-names.js';

type Block = Anthropic.ContentBlockParam;

export function convertTurns(turns: Conversation['turns'], names: ToolNames): Anthropic.MessageParam[] {
  return turns
    .map((turn): { role: 'user' | 'assistant'; content: Block[] } => ({
      role: turn.role,
      content: turn.role === 'user' ? convertUser(turn) : convertAssistant(turn, names),
    }))
    .filter(({ content }) => content.length > 0);
}

function convertUser({ results, parts }: UserTurn): Block[] {
  return [...results.map(({ id, message }) => convertResult(id, message)), ...parts.flatMap(convertPart)];
}

function convertResult(id: string, { content, is_error }: ToolMessage): Anthropic.ToolResultBlockParam {
  const blocks = typeof content === 'string' ? content : content.flatMap(convertPart);
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(blocks.length === 0 ? {} : { content: blocks as Anthropic.ToolResultBlockParam['content'] & {} }),
    ...(is_error === true ? { is_error } : {}),
  };
}

function convertPart(part: ContentPart): Block[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text);
    case 'image_url': {
      const image = readImage(part, 'anthropic');
      const source: Anthropic.ImageBlockParam['source'] =
        'url' in image
          ? { type: 'url', url: image.url }
          : { type: 'base64', media_type: image.media_type, data: image.data };
      return [{ type: 'image', source }];
    }
    case 'document':
      return [
        {
          type: 'document',
          source: { type: 'base64', media_type: part.source.media_type, data: documentData(part) },
        },
      ];
  }
}

function convertAssistant({ said, calls }: AssistantTurn, names: ToolNames): Block[] {
  const blocks = said.flatMap((message) =>
    message.role === 'reasoning' ? thinkingBlocks(message) : textBlocks(wordsOf(message)),
  );
  for (const { id, call } of calls.values())
    blocks.push({ type: 'tool_use', id, name: names.toVendor(call.function.name), input: argumentsOf(call) });
  return blocks.slice(0, blocks.findLastIndex(({ type }) => !type.endsWith('thinking')) + 1);
}

const Signed = z.object({
  anthropic: z.union([z.object({ signature: z.string() }), z.object({ redacted_data: z.string() })]),
});

function thinkingBlocks({ content, provider_meta }: ReasoningMessage): Block[] {
  const signed = Signed.safeParse(provider_meta).data?.anthropic;
  if (signed === undefined) return [];
  if ('signature' in signed) return [{ type: 'thinking', thinking: content, signature: signed.signature }];
  return [{ type: 'redacted_thinking', data: signed.redacted_data }];
}

function textBlocks(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}
