import type Anthropic from '@anthropic-ai/sdk';
import type { SystemMessage } from '../../contract/messages.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import { DEFAULT_MAX_OUTPUT_TOKENS } from '../../contract/reservation.js';
import { readConversation, textOf } from '../conversation.js';
import { readParameters } from '../parameters.js';
import type { ToolNames } from '../tool-names.js';
import { keepLastBreakpoints, type Breakpoint } from './cache-breakpoints.js';
import { convertTurns } from './convert-messages.js';
import { convertToolChoice, convertTools, pastTools } from './convert-tools.js';

export function buildRequest(request: ModelRequest, names: ToolNames): Anthropic.MessageCreateParamsStreaming {
  const { system, turns } = readConversation(request.messages);
  const { max_output_tokens, stop, response_format, reasoning_effort, output_config, thinking, ...parameters } =
    readParameters(request.parameters, 'anthropic');
  const messages = convertTurns(turns, names);
  const blocks = system.filter((message) => textOf(message.content).trim() !== '').map(convertSystem);
  placeBreakpoints(blocks, messages);
  const toolChoice = convertToolChoice(request, names);
  const offered = convertTools(request.tools, names);
  // Past calls are refused where no tools are declared; nothing says that this agent still has them.
  const past = offered.length === 0 ? pastTools(turns, names) : [];
  const outputConfig = {
    ...(output_config as object | undefined),
    ...(reasoning_effort === undefined ? {} : { effort: reasoning_effort as 'low' }),
    ...(response_format === undefined ? {} : { format: { type: 'json_schema', schema: response_format.schema } }),
  } as Anthropic.OutputConfig;
  return {
    ...parameters,
    ...(thinking === undefined || !mayThink(thinking as Anthropic.ThinkingConfigParam, messages)
      ? {}
      : { thinking: thinking as Anthropic.ThinkingConfigParam }),
    model: request.model,
    max_tokens: max_output_tokens ?? request.max_output_tokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    ...(blocks.length === 0 ? {} : { system: blocks.map(({ block }) => block) }),
    messages,
    ...(offered.length === 0 ? {} : { tools: offered }),
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(past.length === 0 ? {} : { tools: past, tool_choice: { type: 'none' } }),
    stream: true,
  };
}

/**
 * With `enabled` thinking Anthropic refuses results of calls that it has not thought about, such as those of another
 * vendor that it takes over from: that one step is then made without.
 */
function mayThink({ type }: Anthropic.ThinkingConfigParam, messages: readonly Anthropic.MessageParam[]): boolean {
  const [asked, last] = messages.slice(-2).map(({ content }) => (typeof content === 'string' ? [] : content));
  if (type !== 'enabled' || !last?.some((block) => block.type === 'tool_result')) return true;
  return asked?.[0]?.type === 'thinking' || asked?.[0]?.type === 'redacted_thinking';
}

interface SystemBlock {
  block: Anthropic.TextBlockParam;
  cache: boolean;
}

function convertSystem({ content, cache }: SystemMessage): SystemBlock {
  return { block: { type: 'text', text: textOf(content) }, cache: cache === true };
}

/**
 * What a system message with `cache` ends is written to the cache, the tools before it included; and so is the
 * conversation after it, as far as it goes: the next step begins with the same.
 */
function placeBreakpoints(system: SystemBlock[], messages: Anthropic.MessageParam[]): void {
  const marked: Breakpoint[] = system.filter(({ cache }) => cache).map(({ block }) => block);
  if (marked.length === 0) return;
  const last = messages.at(-1)?.content;
  const end = typeof last === 'string' ? undefined : last?.at(-1);
  keepLastBreakpoints(end === undefined ? marked : [...marked, end as Breakpoint]);
}
