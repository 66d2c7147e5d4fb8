/** The activities as a worker registers them: each is one effect, with its dependencies given. */
import { Context } from '@temporalio/activity';
import type { RunActivities, ThreadActivities } from '../contract/activities.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { SearchAttributeName } from '../contract/names.js';
import type { Registry } from '../kit/registry.js';
import type { LiveChannel } from '../live/channel.js';
import type { SignalPublishing } from '../live/signal-publisher.js';
import { admitCalls } from './admit-calls.js';
import { callModel } from './call-model.js';
import { callPlanner } from './call-planner.js';
import { callTool } from './call-tool.js';
import { toApplicationFailure } from './classify-failure.js';
import { createContextCache } from './context-cache.js';
import { compactContext } from './compact-context.js';
import { collectTurn } from './collect-turn.js';
import { finalizeChild } from './finalize-child.js';
import { openThread } from './open-thread.js';
import { resolveRun } from './resolve-run.js';
import { titleThread } from './title-thread.js';
import { toToolOutput } from './tool-output.js';
import type { Toolsets } from './toolsets.js';

export interface ActivityDependencies {
  registry: Registry;
  toolsets: Toolsets;
  channel: LiveChannel;
  signals: SignalPublishing;
  artefacts: ArtefactStore;
  searchAttributes: readonly SearchAttributeName[];
}

export function createActivities(dependencies: ActivityDependencies): RunActivities & ThreadActivities {
  const contexts = createContextCache(dependencies.registry.context_cache_runs);
  return {
    resolveRun: (input) =>
      explained('resolving run', input.run_id, async () => {
        const resolved = await resolveRun(dependencies, input, Context.current());
        contexts.prime(input.run_id, resolved.spec);
        return resolved;
      }),
    callModel: (input) => callModel({ ...dependencies, contexts }, input),
    compactContext: (input) => compactContext({ ...dependencies, contexts }, input),
    callTool: (input) =>
      explained(`${input.tool_id} (${input.tool_call_id}) of run`, input.run.run_id, () =>
        callTool(dependencies, input),
      ),
    admitCalls: (input) => explained('admitting calls of run', input.run.run_id, () => admitCalls(dependencies, input)),
    finalizeChild: (input) =>
      explained(`finalizing ${input.tool_id} of run`, input.run.run_id, () => finalizeChild(dependencies, input)),
    keepOutput: (input) =>
      explained('keeping an answer of run', input.run.run_id, () => toToolOutput(input.text, dependencies.artefacts)),
    callPlanner: (input) => callPlanner({ ...dependencies, contexts }, input),
    openThread: (input) => explained('opening thread', input.thread_id, async () => openThread(dependencies, input)),
    collectTurn: (input) =>
      explained('collecting turn', input.run_id, () => collectTurn(Context.current().client, input)),
    titleThread: (input) =>
      explained('a title for thread', input.thread_id, () => titleThread(dependencies.registry, input)),
    async confirmCancel({ run_id, workflow_run_id }) {
      await Context.current().client.workflow.getHandle(run_id, workflow_run_id).cancel();
    },
  };
}

/** Every error leaves with the ids it belongs to and its retry decision; Temporal's own failures pass as they are. */
async function explained<T>(what: string, runId: string, effect: () => Promise<T>): Promise<T> {
  try {
    return await effect();
  } catch (error) {
    if (error instanceof Error && (error.name === 'ApplicationFailure' || error.name === 'CancelledFailure'))
      throw error;
    throw toApplicationFailure(error, `${what} ${runId}`, Context.current().info.attempt);
  }
}
