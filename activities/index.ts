/** The activities as a worker registers them: each is one effect, with its dependencies given. */
import { CompleteAsyncError, Context } from '@temporalio/activity';
import type { ArchiveActivities, RunActivities, ThreadActivities } from '../contract/activities.js';
import { scopeOf } from '../contract/artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { SearchAttributeName } from '../contract/names.js';
import type { Registry } from '../kit/registry.js';
import type { CallBoard } from '../live/call-board.js';
import type { LiveChannel } from '../live/channel.js';
import type { SignalPublishing } from '../live/signal-publisher.js';
import { admitCalls } from './admit-calls.js';
import { callModel } from './call-model.js';
import { callPlanner } from './call-planner.js';
import { callTool } from './call-tool.js';
import type { AroundTool } from './call-tool.js';
import { toApplicationFailure } from './classify-failure.js';
import { createContextCache } from './context-cache.js';
import { compactContext } from './compact-context.js';
import { collectTurn } from './collect-turn.js';
import type { HeardLog } from './collect-turn.js';
import { finalizeChild } from './finalize-child.js';
import { startHeartbeat } from './heartbeat.js';
import { openThread } from './open-thread.js';
import { resolveRun } from './resolve-run.js';
import { sweepArchive } from './sweep-archive.js';
import type { Sweep } from './sweep-archive.js';
import { titleThread } from './title-thread.js';
import { isUnexpected } from './thrown.js';
import type { ReportThrown } from './thrown.js';
import { keepOutput } from './tool-output.js';
import type { Toolsets } from './toolsets.js';

export interface ActivityDependencies {
  registry: Registry;
  toolsets: Toolsets;
  channel: LiveChannel;
  calls: CallBoard;
  signals: SignalPublishing;
  artefacts: ArtefactStore;
  searchAttributes: readonly SearchAttributeName[];
  threw: ReportThrown;
  around: AroundTool;
  heardLog: HeardLog;
  /** Where the worker has a database. */
  sweep?: Sweep;
}

export function createActivities(
  dependencies: ActivityDependencies,
): RunActivities & ThreadActivities & ArchiveActivities {
  const { calls } = dependencies;
  const contexts = createContextCache(dependencies.registry.context_cache_runs);
  const effect = <T>(what: string, id: string, run: () => Promise<T>) =>
    asCanceled(() => explained(what, id, () => beating(calls, run)));
  return {
    resolveRun: (input) =>
      explained('resolving run', input.run_id, async () => {
        const resolved = await resolveRun(dependencies, input, Context.current());
        contexts.prime(input.run_id, resolved.spec);
        return resolved;
      }),
    callModel: (input) => callModel({ ...dependencies, contexts }, input),
    compactContext: (input) => asCanceled(() => compactContext({ ...dependencies, contexts }, input)),
    callTool: (input) =>
      explained(`${input.tool_id} (${input.tool_call_id}) of run`, input.run.run_id, () =>
        callTool(dependencies, input),
      ),
    admitCalls: (input) => effect('admitting calls of run', input.run.run_id, () => admitCalls(dependencies, input)),
    finalizeChild: (input) =>
      effect(`finalizing ${input.tool_id} of run`, input.run.run_id, () => finalizeChild(dependencies, input)),
    keepOutput: (input) =>
      effect('keeping an answer of run', input.run.run_id, () =>
        keepOutput(input, dependencies.artefacts.of(scopeOf(input.run.root_run_id))),
      ),
    callPlanner: (input) => callPlanner({ ...dependencies, contexts }, input),
    openThread: (input) => explained('opening thread', input.thread_id, async () => openThread(dependencies, input)),
    collectTurn: (input) =>
      effect('collecting turn', input.run_id, () =>
        collectTurn(dependencies.heardLog, Context.current().client, contexts.turnEnded, input),
      ),
    titleThread: (input) =>
      asCanceled(() => explained('a title for thread', input.thread_id, () => titleThread(dependencies, input))),
    sweepArchive: () => sweepArchive(dependencies.sweep, Context.current()),
    async confirmCancel({ run_id, workflow_run_id }) {
      await Context.current().client.workflow.getHandle(run_id, workflow_run_id).cancel();
    },
  };

  /** Every error leaves with the ids it belongs to and its retry decision; Temporal's own failures pass as they are. */
  async function explained<T>(what: string, run_id: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof Error && (error.name === 'ApplicationFailure' || error.name === 'CancelledFailure'))
        throw error;
      const { attempt } = Context.current().info;
      if (isUnexpected(error)) dependencies.threw({ what, error, run_id, attempt });
      throw toApplicationFailure(error, `${what} ${run_id}`, attempt);
    }
  }
}

/**
 * A worker that is lost in its middle costs the heartbeat's timeout, and not all the time that the effect may take; and
 * a run that is canceled does not wait for it.
 */
async function beating<T>(calls: CallBoard, effect: () => Promise<T>): Promise<T> {
  const heartbeat = startHeartbeat(Context.current(), calls);
  try {
    return await Promise.race([effect(), canceled(heartbeat.signal)]);
  } finally {
    heartbeat.stop();
  }
}

function canceled(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** Where a cancel came by the channel, the SDK has not heard of it yet, and would report a failure. */
async function asCanceled<T>(effect: () => Promise<T>): Promise<T> {
  try {
    return await effect();
  } catch (error) {
    const { info, client, cancellationSignal } = Context.current();
    if (!(error instanceof Error && error.name === 'CancelledFailure') || cancellationSignal.aborted) throw error;
    await client.activity.reportCancellation(info.taskToken);
    throw new CompleteAsyncError();
  }
}
