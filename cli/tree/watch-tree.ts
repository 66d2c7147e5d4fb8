/** A tree of runs, followed run by run as children appear. */
import type { Runs } from '../../client/index.js';
import type { RunNode } from '../../client/read-tree.js';
import { PerdureError } from '../../contract/errors.js';
import type { DurableEvent } from '../../contract/events.js';
import type { StreamMarker } from '../../contract/live-events.js';
import { addUsage, NO_USAGE, projectSnapshot } from '../../contract/snapshot.js';
import type { RunSnapshot } from '../../contract/snapshot.js';
import type { RunUsage } from '../../contract/run.js';

export interface TreeWatch {
  /** Undefined until the first event is there. */
  tree(): RunNode | undefined;
  /** Resolves when the root has ended, and with it all below; rejects where there is no such run. */
  ended: Promise<void>;
}

interface Followed {
  events: DurableEvent[];
  end?: Extract<StreamMarker, { type: 'stream_ended' }>;
  projected?: { tail: number; snapshot: RunSnapshot | undefined };
}

/** What of a child is not heard so soon after the root's end is left out. */
const LAST_WORDS_MS = 3_000;

export function watchTree(
  runs: Pick<Runs, 'stream'>,
  rootId: string,
  { signal, heard, changed }: { signal: AbortSignal; heard?: () => void; changed: () => void },
): TreeWatch {
  const followed = new Map<string, Followed>();
  const below: Promise<void>[] = [];

  async function follow(runId: string): Promise<void> {
    const log: Followed = { events: [] };
    followed.set(runId, log);
    for await (const event of runs.stream(runId, { signal })) {
      heard?.();
      if (event.type === 'stream_ended') log.end = event;
      else if ('seq' in event) log.events.push(event);
      else continue;
      if (event.type === 'agent_run_started' && !followed.has(event.link.run_id)) below.push(follow(event.link.run_id));
      changed();
    }
  }

  function nodeOf(runId: string): RunNode | undefined {
    const snapshot = snapshotOf(followed.get(runId));
    if (snapshot === undefined) return undefined;
    const children = snapshot.children.map(({ run_id, agent_id, tool_call_id }): RunNode => ({
      ...(nodeOf(run_id) ?? { run_id, agent_id, children: [] }),
      tool_call_id,
    }));
    return { run_id: runId, agent_id: snapshot.run.agent_id, snapshot, children };
  }

  const ended = (async () => {
    await follow(rootId);
    const end = followed.get(rootId)?.end;
    if (end?.reason === 'not_found') throw new PerdureError('unknown_run', `there is no run "${rootId}"`);
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_WORDS_MS);
    });
    await Promise.race([Promise.all(below), limit]);
    clearTimeout(timer);
  })();
  return { tree: () => nodeOf(rootId), ended };
}

/** The root's own where it has ended; before that, what the runs that are known have spent together. */
export function treeUsage({ snapshot, children }: RunNode): RunUsage {
  if (snapshot?.tree_usage !== undefined) return snapshot.tree_usage;
  return children.reduce((sum, child) => addUsage(sum, treeUsage(child)), snapshot?.usage ?? NO_USAGE);
}

function snapshotOf(log: Followed | undefined): RunNode['snapshot'] {
  if (log === undefined) return undefined;
  if (log.projected?.tail !== log.events.length) {
    log.projected = { tail: log.events.length, snapshot: projectSnapshot(log.events) };
  }
  const { snapshot } = log.projected ?? {};
  return snapshot === undefined || log.end === undefined ? snapshot : { ...snapshot, engine_end: log.end };
}
