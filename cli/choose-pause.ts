/** Which of the open pauses an answer is for. Where that is not clear, the error says what there is. */
import type { Runs } from '../client/index.js';
import type { OpenAwait } from '../contract/awaits.js';
import type { RunSnapshot } from '../contract/snapshot.js';
import type { Wish } from './submit-answer.js';
import { CommandError } from './command-error.js';
import { describePause } from './describe-pause.js';
import type { Pause } from './open-pauses.js';

export interface Choice {
  runs: Pick<Runs, 'stream'>;
  snapshot: RunSnapshot;
  pauses: readonly Pause[];
  wish: Wish;
  awaitId: string | undefined;
  flags: string;
}

const KINDS: Record<OpenAwait['kind'], string> = {
  clarification: 'a question, which a text answers',
  approval: 'a call, which --approve or --deny decides',
  external_tools: 'results of your tools, which --result, --error or --declined give',
};

export async function choosePause({ runs, snapshot, pauses, wish, awaitId, flags }: Choice): Promise<Pause> {
  const { run_id } = snapshot.run;
  const named = awaitId === undefined ? pauses : pauses.filter((pause) => pause.await_id === awaitId);
  const fitting = named.filter((pause) => pause.kind === wish.kind && asksFor(pause, wish));
  const [first] = fitting;
  // Ids are unique within a run: its own comes before those of its descendants.
  const own = fitting.filter((pause) => pause.run_id === run_id);
  if (first !== undefined && fitting.length === 1) return first;
  if (awaitId !== undefined && own.length === 1) return own[0] as Pause;

  if (awaitId !== undefined && named.length === 0) {
    const before = await resolutionOf(runs, run_id, awaitId);
    if (before !== undefined) throw new CommandError(`${before}${listed(pauses, flags)}`);
  }
  if (pauses.length === 0) throw new CommandError(nothingOpen(snapshot));
  if (fitting.length > 1) {
    throw new CommandError(
      `${fitting.length} pauses of ${run_id} could be meant. Say which with --await, or by the run that owns it.${listed(fitting, flags)}`,
    );
  }
  if (awaitId !== undefined && named.length === 0) {
    throw new CommandError(`${run_id} has no pause ${awaitId}.${listed(pauses, flags)}`);
  }
  const [only] = named;
  if (only !== undefined && named.length === 1 && only.kind !== wish.kind) {
    throw new CommandError(`${only.await_id} waits for ${KINDS[only.kind]}.${listed(named, flags)}`);
  }
  if (wish.kind === 'approval' && wish.digest !== undefined) {
    const what = `No call of ${run_id} that waits has the digest ${wish.digest}: it is another one by now, or was decided`;
    throw new CommandError(`${what}.${listed(named, flags)}`);
  }
  throw new CommandError(`No open pause of ${run_id} takes this answer.${listed(named, flags)}`);
}

export function nothingOpen({ run, status, phase }: RunSnapshot): string {
  const state = status === 'running' ? `it is in the phase ${phase}` : `it has ended (${status})`;
  return `${run.run_id} waits for nobody: ${state}.`;
}

/** Results and digests say by themselves which calls they are for. */
function asksFor({ calls = [], digest }: Pause, wish: Wish): boolean {
  if (wish.kind === 'approval' && wish.digest !== undefined) return digest?.startsWith(wish.digest) === true;
  if (wish.kind !== 'external_tools') return true;
  return wish.results.every((result) => calls.some((call) => call.tool_call_id === result.tool_call_id));
}

function listed(pauses: readonly Pause[], flags: string): string {
  if (pauses.length === 0) return '';
  const blocks = pauses.map((pause) => describePause(pause, pauses, flags).join('\n'));
  return `\n\nOpen:\n\n${blocks.join('\n\n')}`;
}

async function resolutionOf(runs: Choice['runs'], runId: string, awaitId: string): Promise<string | undefined> {
  for await (const event of runs.stream(runId, { follow: false })) {
    if (event.type !== 'await_resolved' || event.await_id !== awaitId) continue;
    const by = event.answered_by === undefined ? '' : ` by ${event.answered_by}`;
    return `${awaitId} is over: ${event.resolution}${by} at ${event.at}. The first answer stands.`;
  }
  return undefined;
}
