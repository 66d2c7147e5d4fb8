/**
 * One model call. The runtime is the only reader of the vendor's stream: deltas go to readers as they come, the
 * completion goes to the workflow.
 *
 * M1  The text of each message equals the concatenation of the deltas that were published for its block.
 * M2  A canceled call returns what had been said by then; a worker that shuts down throws, and is tried elsewhere.
 */
import { Context } from '@temporalio/activity';
import type { CallModelInput, CallModelResult } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { ChatInvokeCompletion } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage } from '../contract/messages.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../contract/model-provider.js';
import { COMPLETION_LIMIT_BYTES } from '../contract/sizes.js';
import type { Registry } from '../kit/registry.js';
import { createAssembler } from '../providers/index.js';
import type { ContextCache } from './context-cache.js';
import { isCancelRequested, startHeartbeat } from './heartbeat.js';
import { openLiveLine } from './live-line.js';
import type { LiveDependencies } from './live-line.js';
import { loadMedia } from './media.js';
import { openAttempts } from './model-attempts.js';
import { createPartPublisher } from './publish-part.js';

export interface ModelDependencies extends LiveDependencies {
  registry: Registry;
  artefacts: ArtefactStore;
  contexts: ContextCache;
}

export async function callModel(dependencies: ModelDependencies, input: CallModelInput): Promise<CallModelResult> {
  const context = Context.current();
  const attempt = attemptOf(context, input);
  const started = Date.now();
  const heartbeat = startHeartbeat(context);
  const live = openLiveLine(dependencies, context, input);
  const attempts = openAttempts(
    context,
    heartbeat,
    input.attempts_before ?? 0,
    `model call of ${input.step_id} of run ${input.run.run_id}`,
  );
  const assembler = createAssembler();
  try {
    if (attempt > 1) {
      const retracted = attempt - 1;
      live.publish({
        type: 'attempt_retracted',
        live_id: `${input.step_id}.retracted_${retracted}`,
        attempt: retracted,
      });
    }
    const { spec: pinned, messages } = await dependencies.contexts.load(input, context);
    const spec = attempts.pin(pinned);
    const provider = providerOf(dependencies.registry, spec);
    const request = toRequest(input, spec, await loadMedia(messages, dependencies.artefacts), attempt);
    const timeout = AbortSignal.timeout(spec.runtime.model_timeout_ms);
    const signal = AbortSignal.any([context.cancellationSignal, timeout]);
    const publish = createPartPublisher(live, input, attempt);
    await readStream(provider, request, signal, (part) => publish(part, assembler.add(part)));
    if (signal.aborted) {
      if (isCancelRequested(context)) {
        const completion = assembler.completion();
        return { completion, ...attempts.report(), duration_ms: Date.now() - started, interrupted: true };
      }
      if (timeout.aborted) {
        throw new PerdureError(
          'model_timeout',
          `${provider.name} ${request.model} gave no whole answer within ${spec.runtime.model_timeout_ms} ms`,
          { provider: provider.name },
        );
      }
      throw new PerdureError('server_unreachable', 'the worker is shutting down; the call is tried again elsewhere');
    }
    const completion = check(assembler.completion(), provider, request);
    return { completion, ...attempts.report(), duration_ms: Date.now() - started, interrupted: false };
  } catch (error) {
    throw attempts.failed(error);
  } finally {
    heartbeat.stop();
    await live.flush();
  }
}

/** Of the step: a conversation that was too long is tried again after it was compacted, as a further attempt. */
export function attemptOf({ info }: Context, { attempts_before = 0 }: CallModelInput): number {
  return attempts_before + info.attempt;
}

/** Ends with the stream, or as soon as the signal aborts: a vendor's SDK that ignores it is left behind. */
export async function readStream(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal,
  onPart: (part: ModelStreamPart) => void,
): Promise<void> {
  let aborted = false;
  const stop = new Promise<void>((resolve) => {
    const onAbort = () => {
      aborted = true;
      resolve();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  const read = async () => {
    for await (const part of provider.stream(request, signal)) {
      if (aborted) return;
      onPart(part);
    }
  };
  await Promise.race([
    read().catch((error: unknown) => {
      if (!aborted) throw error;
    }),
    stop,
  ]);
}

export function providerOf(registry: Registry, spec: AgentSpec): ModelProvider {
  const profile = registry.models.get(spec.model.profile);
  if (profile !== undefined) return profile.provider;
  throw new PerdureError(
    'unknown_profile',
    `this worker has no model profile "${spec.model.profile}", which the run was pinned to`,
  );
}

export function toRequest(
  input: CallModelInput,
  spec: AgentSpec,
  messages: BaseMessage[],
  attempt: number,
): ModelRequest {
  const planning = input.pass === 'planning';
  return {
    model: spec.model.model,
    messages: [
      // Every step begins with the same: what the vendor can keep of it is cheaper the next time.
      { role: 'system', content: spec.instructions, cache: true },
      ...messages,
      ...(input.directive === undefined ? [] : [{ role: 'system', content: input.directive } as const]),
    ],
    tools: spec.tools.map(({ tool_id, description, parameters, strict }) => ({
      name: tool_id,
      description,
      parameters,
      strict,
    })),
    tool_choice: planning ? 'auto' : 'none',
    parameters: spec.model.parameters,
    ...(spec.model.max_output_tokens === undefined ? {} : { max_output_tokens: spec.model.max_output_tokens }),
    attempt,
    run_id: input.run.run_id,
    step_id: input.step_id,
  };
}

function check(completion: ChatInvokeCompletion, provider: ModelProvider, request: ModelRequest): ChatInvokeCompletion {
  const bytes = Buffer.byteLength(JSON.stringify(completion), 'utf8');
  if (bytes > COMPLETION_LIMIT_BYTES) {
    throw new PerdureError(
      'model_output_too_large',
      `${provider.name} ${request.model} returned ${bytes} bytes; at most ${COMPLETION_LIMIT_BYTES} are taken`,
      { provider: provider.name },
    );
  }
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
