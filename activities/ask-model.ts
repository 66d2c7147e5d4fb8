/** One question of the runtime's own to a model, beside what the agent says: no tools, no deltas to anyone. Heartbeats are the caller's. */
import { CancelledFailure } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import type { ChatInvokeUsage } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { ModelProvider } from '../contract/model-provider.js';
import { createAssembler } from '../providers/index.js';
import { readStream } from './call-model.js';
import { isCancelRequested } from './heartbeat.js';

interface AskedModel {
  provider: ModelProvider;
  model: string;
  parameters?: Record<string, unknown>;
  max_output_tokens?: number | undefined;
}

interface Question {
  instructions: string;
  text: string;
  run_id: string;
  step_id: string;
  timeout_ms: number;
}

export interface ModelAnswer {
  text: string;
  usage: ChatInvokeUsage | null;
}

/** Throws where there is no whole answer: when canceled, when the time is up, when the worker goes. */
export async function askModel(context: Context, asked: AskedModel, question: Question): Promise<ModelAnswer> {
  const { provider, model, parameters = {}, max_output_tokens } = asked;
  const { instructions, text, run_id, step_id, timeout_ms } = question;
  const assembler = createAssembler();
  const timeout = AbortSignal.timeout(timeout_ms);
  const signal = AbortSignal.any([context.cancellationSignal, timeout]);
  const messages = [
    { role: 'system' as const, content: instructions },
    { role: 'user' as const, content: text },
  ];
  const { attempt } = context.info;
  const request = {
    model,
    messages,
    tools: [],
    tool_choice: 'none',
    parameters,
    attempt,
    run_id,
    step_id,
    ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
  };
  await readStream(provider, request, signal, (part) => assembler.add(part));
  if (context.cancellationSignal.aborted) {
    if (isCancelRequested(context))
      throw new CancelledFailure(`the question to ${provider.name} ${model} was canceled`);
    throw new PerdureError('server_unreachable', 'the worker is shutting down; the call is tried again elsewhere');
  }
  if (timeout.aborted) {
    const what = `${provider.name} ${model} gave no whole answer within ${timeout_ms} ms`;
    throw new PerdureError('model_timeout', what, { provider: provider.name });
  }
  const { messages: said, usage } = assembler.completion();
  const answer = said.map((message) => (message.role === 'assistant' ? (message.content ?? '') : '')).join('');
  return { text: answer, usage: usage ?? null };
}
