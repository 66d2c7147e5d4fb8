/** A planner of the application's own: it gets the conversation and a model to call, and decides what to do next. */
import { setImmediate } from 'node:timers/promises';
import type { CallModelInput, CallModelResult } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import type { ChatInvokeCompletion } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage, ToolCall } from '../contract/messages.js';
import { callerOf } from '../contract/principal.js';
import type { StartedChild } from '../contract/run.js';
import type { ToolSpec } from '../contract/tools.js';
import type { PlannerContext, PlannerDecision, PlannerTool, PlannerToolResult } from '../kit/define-agent.js';
import { check, checkSize, toRequest } from './call-model.js';
import { inModelSession } from './model-session.js';
import type { ModelDependencies, ModelSession } from './model-session.js';
import { readDecision } from './planner-decision.js';
import { openPurse } from './planner-purse.js';
import { openSpeech, textOf } from './planner-speech.js';
import type { PlannerSpeech } from './planner-speech.js';
import { sumUsage } from './sum-usage.js';

export function callPlanner(dependencies: ModelDependencies, input: CallModelInput): Promise<CallModelResult> {
  return inModelSession(
    dependencies,
    input,
    { doing: 'planning', by: `planner of ${input.run.agent_id}` },
    async (session) => {
      const { spec, provider, messages, signal } = session;
      const planner = dependencies.registry.agents.get(spec.agent_id)?.options.planner;
      if (planner === undefined)
        throw new PerdureError('unknown_agent', `this worker has no planner for ${spec.agent_id}`);
      const speech = openSpeech(session);
      const model = openModel(session, speech);
      const { children = [] } = input;
      const made = (calls: ToolCall[], stop_reason = 'planner') => ({
        completion: { messages: withCalls(speech.close(), calls), usage: model.usage(), stop_reason },
        model_calls: model.started(),
      });
      let decision: PlannerDecision;
      try {
        decision = await planner({
          run: input.run,
          ...(input.caller ?? callerOf({})),
          step_number: Number(input.step_id.slice('step_'.length)),
          messages,
          tools: spec.tools.map(toPlannerTool),
          results: resultsOf(messages, children),
          children,
          signal,
          model,
        });
      } catch (error) {
        if (!session.isCanceled()) throw error;
        return { ...made([]), interrupted: true };
      }
      if (session.isCanceled()) return { ...made([]), interrupted: true };
      const { text, calls } = readDecision(decision, model.done);
      const chosen = model.done.find((completion) => 'completion' in decision && completion === decision.completion);
      if (chosen === undefined) speech.say(text);
      else if (!model.isShown(chosen)) speech.show(chosen);
      const source = chosen ?? model.done.findLast(({ messages: said }) => text !== '' && textOf(said) === text);
      const { completion, model_calls } = made(calls, source?.stop_reason ?? undefined);
      checkSize(completion, provider, spec.model.model);
      return { completion, model_calls, ...(calls.length === 0 ? { answer: text } : {}), interrupted: false };
    },
  );
}

/** The calls are those that were decided on, whatever the model had proposed. */
function withCalls(said: BaseMessage[], calls: ToolCall[]): BaseMessage[] {
  const spoken = said.flatMap((message): BaseMessage[] => {
    if (message.role !== 'assistant') return [message];
    const { tool_calls: _, ...words } = message;
    return words.content || words.refusal ? [words] : [];
  });
  return calls.length === 0 ? spoken : [...spoken, { role: 'assistant', content: null, tool_calls: calls }];
}

interface PlannerModel {
  invoke: PlannerContext['model']['invoke'];
  readonly done: readonly ChatInvokeCompletion[];
  isShown(completion: ChatInvokeCompletion): boolean;
  started(): number;
  /** Of all calls together; null where one did not say. */
  usage(): CallModelResult['completion']['usage'];
}

function openModel(session: ModelSession, speech: PlannerSpeech): PlannerModel {
  const { input, attempt, spec, provider, messages, signal } = session;
  const purse = openPurse(input.allowance, spec.model, input.run.run_id);
  const done: ChatInvokeCompletion[] = [];
  const shown = new Set<ChatInvokeCompletion>();
  let started = 0;
  return {
    done,
    isShown: (completion) => shown.has(completion),
    started: () => started,
    usage: () =>
      started === done.length
        ? sumUsage(
            spec.model.model,
            done.map((completion) => completion.usage),
          )
        : null,
    async invoke(asked = {}) {
      const own = {
        ...spec,
        instructions: asked.instructions ?? spec.instructions,
        tools: asked.tools === undefined ? spec.tools : chosenTools(spec, asked.tools),
      };
      const request = toRequest(input, own, [...(asked.messages ?? messages)], attempt);
      const paid = purse.reserve(request);
      started += 1;
      // A planner in a loop, whose model answers from memory, leaves heartbeats and readers their turn.
      await setImmediate();
      const isShown = asked.stream !== false;
      const call = speech.open(isShown);
      const chosen = { ...request, tool_choice: asked.tool_choice ?? request.tool_choice };
      // What was said by then is no whole answer, and a planner must not take it for one.
      if (!(await session.read(chosen, (part) => call.add(part)))) signal.throwIfAborted();
      const completion = withCallIds(check(call.completion(), provider, request), done.length + 1);
      call.end();
      paid(completion.usage);
      done.push(completion);
      if (isShown) shown.add(completion);
      return completion;
    },
  };
}

/** A planner can tell calls apart, and give them back to a model with results of its own. The run mints theirs anew. */
function withCallIds(completion: ChatInvokeCompletion, invocation: number): ChatInvokeCompletion {
  let calls = 0;
  const messages = completion.messages.map((message) =>
    message.role === 'assistant' && message.tool_calls !== undefined
      ? {
          ...message,
          tool_calls: message.tool_calls.map((call) => ({ ...call, id: `draft_${invocation}_${++calls}` })),
        }
      : message,
  );
  return { ...completion, messages };
}

function chosenTools({ agent_id, tools }: AgentSpec, ids: readonly string[]): ToolSpec[] {
  const unknown = ids.filter((id) => !tools.some(({ tool_id }) => tool_id === id));
  if (unknown.length === 0) return tools.filter(({ tool_id }) => ids.includes(tool_id));
  const what = `tools: the planner of ${agent_id} offers the model ${unknown.join(', ')}, and the run has no such tool`;
  throw new PerdureError('invalid_request', what);
}

function toPlannerTool({ tool_id, description, parameters, kind = 'activity', agent_id }: ToolSpec): PlannerTool {
  return { tool_id, description, parameters, kind, ...(agent_id === undefined ? {} : { agent_id }) };
}

/** Those at the end of the conversation, with the calls that they are of. */
function resultsOf(messages: readonly BaseMessage[], children: readonly StartedChild[]): PlannerToolResult[] {
  const last = messages.findLastIndex((message) => message.role !== 'tool');
  const asking = messages[last];
  const calls = asking?.role === 'assistant' ? (asking.tool_calls ?? []) : [];
  return messages.slice(last + 1).flatMap((message) => {
    if (message.role !== 'tool') return [];
    const { tool_call_id, tool_name: tool, content, output_ref, trimmed, is_error = false } = message;
    const child = children.find((started) => started.tool_call_id === tool_call_id);
    return [
      {
        tool_call_id,
        tool,
        arguments: calls.find(({ id }) => id === tool_call_id)?.function.arguments ?? '',
        content,
        is_error,
        ...(output_ref === undefined ? {} : { output_ref }),
        ...(trimmed === undefined ? {} : { trimmed }),
        ...(child === undefined ? {} : { link: linkOf(child) }),
      },
    ];
  });
}

function linkOf({ run_id, agent_id, stream_key }: StartedChild) {
  return { run_id, agent_id, stream_key };
}
