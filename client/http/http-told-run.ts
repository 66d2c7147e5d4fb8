/** A run told in a dialect by the gateway: it knows addresses of files, and where a reader was in the dialect. */
import type { Ending } from '../../contract/stream-lines.js';
import type { RunSnapshot } from '../../contract/snapshot.js';
import type { RunRequestInput } from '../../contract/run.js';
import { badEndOf, engineEndOf } from '../../dialects/told-runs.js';
import type { TellOptions, ToldDialect, ToldRun } from '../../dialects/told-runs.js';
import { cursorOf, openEvents, profileName } from './http-stream.js';
import type { EventStream, HttpStreamContext, HttpStreamOptions } from './http-stream.js';

/** Of a stream that is told over HTTP. */
export interface Resumable {
  /** Where to resume, in the same dialect: after the last line delivered. */
  cursor(): string;
}

export function tellHttpRun(
  context: HttpStreamContext,
  start: (request: RunRequestInput) => Promise<{ run_id: string }>,
  { name, saysBadEnds }: ToldDialect,
  run: string | RunRequestInput,
  options: HttpStreamOptions & TellOptions,
): ToldRun<unknown> & Resumable {
  const begin = cursorOf(options);
  const { follow, children, signal, onWarning } = options;
  const profile = profileName(options.profile);
  const started = typeof run === 'string' ? Promise.resolve({ run_id: run }) : start(run);
  // Whoever iterates is told; nobody has to ask which run it is.
  started.catch(() => {});
  let lines: EventStream<unknown> | undefined;

  async function* tell(): AsyncGenerator<unknown, undefined> {
    const { run_id } = await started;
    const path = `/v1/runs/${encodeURIComponent(run_id)}`;
    let ending: Ending | undefined;
    lines = openEvents<unknown>(context, {
      path: `${path}/events`,
      query: { dialect: name, profile, children, follow },
      cursor: begin,
      signal,
      onWarning,
      aside(line) {
        if ('run_id' in line) ending = line;
        return undefined;
      },
    });
    yield* lines;
    if (saysBadEnds || ending === undefined || ending.reason === 'tail') return undefined;
    if (ending.reason !== 'completed') throw engineEndOf(ending);
    if (ending.status === 'success') return undefined;
    throw badEndOf(run_id, await context.calls.get<RunSnapshot>(path, { profile }));
  }

  return Object.assign(tell(), { run: started, cursor: () => lines?.cursor() ?? begin ?? '0' });
}
