/**
 * What is around every model call of a run, whoever makes it: heartbeats, the line to readers, the attempts at it, the
 * pinned agent with its conversation, its time, and the vendor's outages.
 *
 * M1  What the attempts before this one showed is retracted before anything new is shown.
 * M2  A canceled call returns what had been said by then; a worker that shuts down throws, and is tried elsewhere.
 */
import { Context } from '@temporalio/activity';
import type { CallModelInput, CallModelResult } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage } from '../contract/messages.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../contract/model-provider.js';
import type { Registry } from '../kit/registry.js';
import type { ContextCache } from './context-cache.js';
import { startHeartbeat } from './heartbeat.js';
import { openLiveLine } from './live-line.js';
import type { LiveDependencies, LiveLine } from './live-line.js';
import { loadMedia } from './media.js';
import { openAttempts } from './model-attempts.js';
import { openOutage } from './outlast-outage.js';
import { readStream } from './read-stream.js';
import type { ReportThrown } from './thrown.js';

export interface ModelDependencies extends LiveDependencies {
  registry: Registry;
  artefacts: ArtefactStore;
  contexts: ContextCache;
  threw: ReportThrown;
}

export interface ModelSession {
  readonly input: CallModelInput;
  /** Of the step: a conversation that was too long is tried again after it was compacted, as a further attempt. */
  readonly attempt: number;
  /** As pinned, with the model that this attempt asks. */
  readonly spec: AgentSpec;
  readonly provider: ModelProvider;
  /** The conversation, with the data of its media. */
  readonly messages: BaseMessage[];
  readonly live: LiveLine;
  /** Aborts when the call is canceled, when its time is up, and when its worker goes away. */
  readonly signal: AbortSignal;
  isCanceled(): boolean;
  /** Reads the vendor's stream. False: canceled in its middle. Throws where there can be no whole answer otherwise. */
  read(request: ModelRequest, onPart: (part: ModelStreamPart) => void): Promise<boolean>;
}

type Made = Pick<CallModelResult, 'completion' | 'interrupted' | 'model_calls' | 'answer'>;

/** `doing` what, and `by` whose code, in a few words: for errors. */
export async function inModelSession(
  dependencies: ModelDependencies,
  input: CallModelInput,
  { doing, by }: { doing: string; by: string },
  make: (session: ModelSession) => Promise<Made>,
): Promise<CallModelResult> {
  const context = Context.current();
  const started = Date.now();
  const { attempts_before: before = 0, step_id, run } = input;
  const attempt = before + context.info.attempt;
  const heartbeat = startHeartbeat(context, dependencies.calls);
  const live = openLiveLine(dependencies, context, input);
  const attempts = openAttempts(context, heartbeat, before, `${doing} ${step_id} of run ${run.run_id}`, (error) =>
    dependencies.threw({ what: by, error, run_id: run.run_id, attempt: context.info.attempt }),
  );
  try {
    if (attempt > 1) {
      const retracted = attempt - 1;
      live.publish({ type: 'attempt_retracted', live_id: `${step_id}.retracted_${retracted}`, attempt: retracted });
    }
    const { spec: pinned, messages } = await dependencies.contexts.load(input, context);
    const spec = attempts.pin(pinned);
    const provider = providerOf(dependencies.registry, spec);
    const loaded = await loadMedia(named(messages, spec), dependencies.artefacts.of(scopeOf(run.root_run_id)));
    const timeout = AbortSignal.timeout(spec.runtime.model_timeout_ms);
    const signal = AbortSignal.any([heartbeat.signal, timeout]);
    const mayWait = input.directive === undefined || input.continues === true;
    const outage = openOutage(context, heartbeat, spec, attempts.isLastProfile() && mayWait);
    const isCanceled = () => signal.aborted && heartbeat.isCanceled();
    const made = await make({
      input,
      attempt,
      spec,
      provider,
      messages: loaded,
      live,
      signal,
      isCanceled,
      async read(request, onPart) {
        await outage.outlast(signal, () => readStream(provider, request, signal, onPart));
        if (!signal.aborted) return true;
        if (isCanceled()) return false;
        if (!timeout.aborted)
          throw new PerdureError(
            'server_unreachable',
            'the worker is shutting down; the call is tried again elsewhere',
          );
        throw new PerdureError(
          'model_timeout',
          `${provider.name} ${request.model} gave no whole answer within ${spec.runtime.model_timeout_ms} ms`,
          { provider: provider.name },
        );
      },
    });
    return { ...made, ...attempts.report(), duration_ms: Date.now() - started };
  } catch (error) {
    throw attempts.failed(error);
  } finally {
    heartbeat.stop();
    await live.flush();
  }
}

export function nameOf({ name }: Pick<AgentSpec, 'name'>): { name?: string } {
  return name === undefined ? {} : { name };
}

/** What the agent said, under its name. */
function named(messages: BaseMessage[], spec: AgentSpec): BaseMessage[] {
  if (spec.name === undefined) return messages;
  return messages.map((message) => (message.role === 'assistant' ? { ...nameOf(spec), ...message } : message));
}

export function providerOf(registry: Registry, spec: AgentSpec): ModelProvider {
  const profile = registry.models.get(spec.model.profile);
  if (profile !== undefined) return profile.provider;
  throw new PerdureError(
    'unknown_profile',
    `this worker has no model profile "${spec.model.profile}", which the run was pinned to`,
  );
}
