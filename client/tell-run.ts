/** A run told in a dialect, from the events that this client reads. */
import type { ArtefactStore } from '../contract/artefacts.js';
import { errorOf, PerdureError } from '../contract/errors.js';
import type { StreamEvent } from '../contract/live-events.js';
import { PROFILES } from '../contract/profiles.js';
import type { OwnProfiles } from '../contract/profiles.js';
import type { RunRequestInput } from '../contract/run.js';
import { DIALECTS } from '../dialects/index.js';
import type { DialectState } from '../dialects/index.js';
import { badEndOf, engineEndOf } from '../dialects/told-runs.js';
import type { TellOptions, ToldDialect, ToldRun } from '../dialects/told-runs.js';
import { dressFor } from './dress-events.js';
import { foldLog } from './fold-log.js';
import type { FoldOptions } from './fold-log.js';
import { positionOf, profileOf } from './streams.js';
import type { StreamOptions } from './streams.js';

export interface ToldSource {
  runs: FoldOptions<unknown>['runs'] & { start(request: RunRequestInput): Promise<{ run_id: string }> };
  profiles: OwnProfiles;
  /** Absent: files and large pictures are only named. */
  artefacts: ArtefactStore | undefined;
}

export function tellRun(
  { runs, profiles, artefacts }: ToldSource,
  { name, saysBadEnds }: ToldDialect,
  run: string | RunRequestInput,
  { onWarning, ...options }: StreamOptions & TellOptions,
): ToldRun<unknown> {
  const started = typeof run === 'string' ? Promise.resolve({ run_id: run }) : runs.start(run);
  // Whoever iterates is told; nobody has to ask which run it is.
  started.catch(() => {});
  const dialect = DIALECTS[name];

  async function* tell(): AsyncGenerator<unknown, undefined> {
    const { run_id: root } = await started;
    const profile = profileOf(options, profiles);
    const shown = profile ?? PROFILES.agent_debug;
    const failed = (runId: string, error: unknown) =>
      onWarning?.(`a file of run ${runId} could not be read: ${String(error)}`, runId);
    const dressing = artefacts === undefined ? undefined : { links: undefined, org: '', artefacts, failed };
    const dress = dressFor(name, shown, dressing);
    const begin = (id: string) => dialect.begin({ commit: false, nested: id !== root, clock: () => Date.now() });

    const { from: asked, cursor, ...reading } = options;
    const from = asked === undefined || asked === 0 ? asked : fromTail(root, asked, await runs.tail(root));
    const place = { ...(from === undefined ? {} : { from }), ...(cursor === undefined ? {} : { cursor }) };
    const { open } = positionOf(root, profile?.children === 'flattened', place);
    const { follow = true, signal } = options;
    const states = new Map<string, DialectState>();
    for (const [id, next] of open) {
      if (next === 0) continue;
      const folded = await foldLog(id, next, { runs, dialect, begin, profile: shown, dress, follow, signal });
      states.set(id, folded.state);
      if (id !== root || folded.last.type !== 'run_completed') continue;
      const wrong = badEnd(folded.last, saysBadEnds);
      if (wrong !== undefined) throw wrong;
      return undefined;
    }

    for await (const event of runs.stream(root, { ...reading, ...place, rest_chunks: false })) {
      const { run_id } = event;
      const { state, lines, warnings } = dialect.tell(states.get(run_id) ?? begin(run_id), await dress(event));
      states.set(run_id, state);
      for (const { data } of lines) yield data;
      for (const message of warnings) onWarning?.(message, run_id);
      const wrong = run_id === root || event.type === 'stream_failed' ? badEnd(event, saysBadEnds) : undefined;
      if (wrong !== undefined) throw wrong;
    }
    return undefined;
  }

  return Object.assign(tell(), { run: started });
}

function fromTail(runId: string, asked: number, tail: number): number {
  if (asked <= tail) return asked < 0 ? Math.max(0, tail + asked) : asked;
  throw new PerdureError('invalid_request', `from: run ${runId} has written ${tail} events, none after them yet`);
}

/** What would otherwise look like an end that is none, or like a success. */
function badEnd(event: StreamEvent, isSaid: boolean): PerdureError | undefined {
  if (event.type === 'stream_failed') return errorOf(event);
  if (isSaid) return undefined;
  if (event.type === 'stream_ended') return engineEndOf(event);
  return event.type === 'run_completed' && event.status !== 'success' ? badEndOf(event.run_id, event) : undefined;
}
