/** One question of the runtime's own to a model, beside what the agent says: no tools, no deltas to anyone. Heartbeats are the caller's. */
import { CancelledFailure } from '@temporalio/activity';
import type { ChatInvokeUsage } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { ModelProvider } from '../contract/model-provider.js';
import { createAssembler } from '../providers/index.js';
import { readStream } from './read-stream.js';
import type { Heartbeat } from './heartbeat.js';
import type { Outage } from './outlast-outage.js';

interface AskedModel {
  provider: ModelProvider;
  model: string;
  parameters?: Record<string, unknown>;
  max_output_tokens?: number | undefined;
  /** Absent: nobody waits for a vendor that cannot be reached. */
  outage?: Outage;
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
export async function askModel(
  call: Pick<Heartbeat, 'signal' | 'isCanceled'> & { attempt: number },
  asked: AskedModel,
  question: Question,
): Promise<ModelAnswer> {
  const { provider, model, parameters = {}, max_output_tokens } = asked;
  const { instructions, text, run_id, step_id, timeout_ms } = question;
  const assembler = createAssembler();
  const timeout = AbortSignal.timeout(timeout_ms);
  const signal = AbortSignal.any([call.signal, timeout]);
  const messages = [
    { role: 'system' as const, content: instructions },
    { role: 'user' as const, content: text },
  ];
  const { attempt } = call;
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
  const ask = () => readStream(provider, request, signal, (part) => assembler.add(part));
  await (asked.outage === undefined ? ask() : asked.outage.outlast(signal, ask));
  if (call.signal.aborted) {
    if (call.isCanceled()) throw new CancelledFailure(`the question to ${provider.name} ${model} was canceled`);
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
