/** A planner of the application's own: it gets the conversation and a model to call, and decides what to do next. */
import { Context } from '@temporalio/activity';
import type { CallModelInput, CallModelResult } from '../contract/activities.js';
import type { ChatInvokeCompletion } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { AssistantMessage } from '../contract/messages.js';
import { ASK_CLARIFICATION_TOOL } from '../contract/names.js';
import { createAssembler } from '../providers/index.js';
import { attemptOf, providerOf, readStream, toRequest } from './call-model.js';
import type { ModelDependencies } from './call-model.js';
import { isCancelRequested, startHeartbeat } from './heartbeat.js';
import { openLiveLine } from './live-line.js';
import { loadMedia } from './media.js';
import { openAttempts } from './model-attempts.js';
import { openPurse } from './planner-purse.js';
import { createPartPublisher } from './publish-part.js';
import { sumUsage } from './sum-usage.js';

export async function callPlanner(dependencies: ModelDependencies, input: CallModelInput): Promise<CallModelResult> {
  const context = Context.current();
  const attempt = attemptOf(context, input);
  const heartbeat = startHeartbeat(context);
  const live = openLiveLine(dependencies, context, input);
  const attempts = openAttempts(
    context,
    heartbeat,
    input.attempts_before ?? 0,
    `planning ${input.step_id} of run ${input.run.run_id}`,
  );
  const began = Date.now();
  try {
    if (attempt > 1) {
      live.publish({
        type: 'attempt_retracted',
        live_id: `${input.step_id}.retracted_${attempt - 1}`,
        attempt: attempt - 1,
      });
    }
    const { spec: pinned, messages } = await dependencies.contexts.load(input, context);
    const spec = attempts.pin(pinned);
    const planner = dependencies.registry.agents.get(spec.agent_id)?.options.planner;
    if (planner === undefined)
      throw new PerdureError('unknown_agent', `this worker has no planner for ${spec.agent_id}`);
    const provider = providerOf(dependencies.registry, spec);
    const loaded = await loadMedia(messages, dependencies.artefacts);
    const signal = AbortSignal.any([context.cancellationSignal, AbortSignal.timeout(spec.runtime.model_timeout_ms)]);
    const done: ChatInvokeCompletion[] = [];
    const purse = openPurse(input.allowance, spec.model, input.run.run_id);
    let started = 0;
    const decision = await planner({
      run: input.run,
      step_number: Number(input.step_id.slice('step_'.length)),
      messages: loaded,
      tools: spec.tools.map((tool) => tool.tool_id),
      signal,
      model: {
        async invoke(asked = {}) {
          const own = asked.instructions === undefined ? spec : { ...spec, instructions: asked.instructions };
          const request = toRequest(input, own, [...(asked.messages ?? loaded)], attempt);
          const paid = purse.reserve(request);
          const assembler = createAssembler();
          started += 1;
          await readStream(
            provider,
            { ...request, tool_choice: asked.tool_choice ?? request.tool_choice },
            signal,
            (part) => assembler.add(part),
          );
          // What was said by then is no whole answer, and a planner must not take it for one.
          signal.throwIfAborted();
          const completion = assembler.completion();
          paid(completion.usage);
          done.push(completion);
          return completion;
        },
      },
    });
    const usage =
      started === done.length
        ? sumUsage(
            spec.model.model,
            done.map((completion) => completion.usage),
          )
        : null;
    const model_calls = started;
    if (signal.aborted && isCancelRequested(context)) {
      return {
        completion: { messages: [], usage },
        ...attempts.report(),
        duration_ms: Date.now() - began,
        interrupted: true,
        model_calls,
      };
    }
    const message = toMessage(decision);
    if (message.content) {
      const publish = createPartPublisher(live, input, attempt);
      publish({ type: 'text', delta: message.content }, { kind: 'text', n: 1, opened: true, index: 0 });
    }
    const completion: ChatInvokeCompletion = {
      messages: [{ ...message, meta: { block: 1 } }],
      usage,
      stop_reason: 'planner',
    };
    return { completion, ...attempts.report(), duration_ms: Date.now() - began, interrupted: false, model_calls };
  } catch (error) {
    throw attempts.failed(error);
  } finally {
    heartbeat.stop();
    await live.flush();
  }
}

/** Normalised into exactly one of: tool calls, an answer, a question. A planner is the application's: it is not trusted to. */
function toMessage(decision: Partial<DecisionFields> | undefined): AssistantMessage {
  const { answer, ask, choices, tool_calls: given = [], text } = decision ?? {};
  if (typeof answer === 'string' && answer !== '') return { role: 'assistant', content: answer };
  const question = { question: ask, ...(choices === undefined ? {} : { choices }) };
  const calls = typeof ask === 'string' && ask !== '' ? [{ tool: ASK_CLARIFICATION_TOOL, args: question }] : given;
  if (calls.length === 0) {
    throw new PerdureError('model_no_answer', 'the planner decided nothing: no answer, no tool call, no question');
  }
  return {
    role: 'assistant',
    content: text ?? null,
    tool_calls: calls.map(({ tool, args }) => ({
      id: '',
      type: 'function',
      function: { name: tool, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
    })),
  };
}

interface DecisionFields {
  answer: string;
  ask: string;
  choices: string[];
  tool_calls: { tool: string; args: unknown }[];
  text: string;
}
