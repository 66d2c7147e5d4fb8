/**
 * One model call. The runtime is the only reader of the vendor's stream: deltas go to readers as they come, the
 * completion goes to the workflow. The text of each message equals the concatenation of the deltas that were published
 * for its block.
 */
import type { CallModelInput, CallModelResult } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import type { ChatInvokeCompletion, ToolChoice } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import { stepId } from '../contract/ids.js';
import { READ_OUTPUT_TOOL } from '../contract/names.js';
import type { BaseMessage } from '../contract/messages.js';
import type { ModelProvider, ModelRequest } from '../contract/model-provider.js';
import { COMPLETION_LIMIT_BYTES } from '../contract/sizes.js';
import { createAssembler } from '../providers/index.js';
import { inModelSession, nameOf } from './model-session.js';
import type { ModelDependencies } from './model-session.js';
import { createPartPublisher } from './publish-part.js';

export function callModel(dependencies: ModelDependencies, input: CallModelInput): Promise<CallModelResult> {
  return inModelSession(dependencies, input, { doing: 'model call of', by: 'model provider' }, async (session) => {
    const { spec, provider, messages, live, attempt } = session;
    const request = toRequest(input, spec, messages, attempt);
    const assembler = createAssembler();
    const publish = createPartPublisher(live, input, spec, attempt);
    const isWhole = await session.read(request, (part) => publish(part, assembler.add(part)));
    const completion = assembler.completion();
    if (!isWhole) return { completion, interrupted: true };
    return { completion: check(completion, provider, request), interrupted: false };
  });
}

export function toRequest(
  input: CallModelInput,
  spec: AgentSpec,
  messages: BaseMessage[],
  attempt: number,
): ModelRequest {
  const mayCall = input.pass === 'planning' && input.continues !== true;
  return {
    model: spec.model.model,
    messages: [
      // Every step begins with the same: what the vendor can keep of it is cheaper the next time.
      { role: 'system', content: spec.instructions, ...nameOf(spec), cache: true },
      ...messages,
      ...(input.directive === undefined ? [] : [{ role: 'system', content: input.directive } as const]),
    ],
    tools: spec.tools.map(({ tool_id, description, parameters, strict }) => ({
      name: tool_id,
      description,
      parameters,
      strict,
    })),
    tool_choice: mayCall ? toolChoice(input, spec) : 'none',
    parameters: spec.model.parameters,
    ...(spec.model.max_output_tokens === undefined ? {} : { max_output_tokens: spec.model.max_output_tokens }),
    attempt,
    run_id: input.run.run_id,
    step_id: input.step_id,
  };
}

/** To demand a call of every step would be to never let it answer; and what is not offered cannot be demanded. */
function toolChoice({ step_id }: CallModelInput, { tool_choice = 'auto', tools }: AgentSpec): ToolChoice {
  if (tool_choice === 'none') return tool_choice;
  // Reading on in what it has not read yet is nothing to begin with.
  const isOffered = tools.some(({ tool_id }) =>
    tool_choice === 'required' ? tool_id !== READ_OUTPUT_TOOL : tool_id === tool_choice,
  );
  return step_id === stepId(1) && isOffered ? tool_choice : 'auto';
}

/** The completion, if it is an answer that can be kept. */
export function check(
  completion: ChatInvokeCompletion,
  provider: ModelProvider,
  request: ModelRequest,
): ChatInvokeCompletion {
  checkSize(completion, provider, request.model);
  const said = completion.messages.some(
    (message) => message.role === 'assistant' && (message.content || message.refusal || message.tool_calls?.length),
  );
  if (!said) {
    // Cut off or filtered before the first word: another attempt would end the same way.
    const final = completion.stop_reason === 'max_tokens' || completion.stop_reason === 'content_filter';
    throw new PerdureError(
      final ? 'model_no_answer' : 'model_stream_empty',
      `${provider.name} ${request.model} ended (${completion.stop_reason ?? 'no reason'}) without text or a tool call`,
      { provider: provider.name },
    );
  }
  return completion;
}

export function checkSize(completion: ChatInvokeCompletion, provider: ModelProvider, model: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(completion), 'utf8');
  if (bytes <= COMPLETION_LIMIT_BYTES) return;
  throw new PerdureError(
    'model_output_too_large',
    `${provider.name} ${model} returned ${bytes} bytes; at most ${COMPLETION_LIMIT_BYTES} are taken`,
    { provider: provider.name },
  );
}
