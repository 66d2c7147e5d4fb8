/** `perdure answer`: answers a pause of a run or of one of its descendants, or says what there is to answer. */
import { userInfo } from 'node:os';
import type { ClientToolResult } from '../contract/awaits.js';
import { choosePause, nothingOpen } from './choose-pause.js';
import { CommandError } from './command-error.js';
import { connectToRuns } from './connect-to-runs.js';
import { describePause, questionLines } from './describe-pause.js';
import { EXIT } from './exit-codes.js';
import { readPauses } from './open-pauses.js';
import type { Pause } from './open-pauses.js';
import { parseResults } from './parse-results.js';
import { repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunCommands } from './run-commands.js';
import { printable } from './text-width.js';

export interface AnswerFlags extends FoundBy {
  await?: string;
  approve?: boolean;
  deny?: boolean;
  note?: string;
  result?: string[];
  error?: string[];
  declined?: string[];
  by?: string;
}

/** What was asked to be done, before it is known to which pause. */
export type Wish =
  | { kind: 'clarification'; text: string }
  | { kind: 'approval'; decision: 'approve' | 'deny'; note?: string }
  | { kind: 'external_tools'; results: ClientToolResult[] };

export function answer(runId: string, text: string | undefined, flags: AnswerFlags): Promise<number> {
  const wish = wishOf(text, flags);
  return connectToRuns(runId, flags, async ({ client: { runs } }) => {
    const snapshot = await runs.get(runId);
    const pauses = await readPauses(runs, snapshot);
    const say = (line: string) => void process.stdout.write(`${printable(line)}\n`);
    if (wish === undefined) {
      if (pauses.length === 0) say(nothingOpen(snapshot));
      else say(pauses.map((pause) => describePause(pause, pauses, repeatFlags(flags)).join('\n')).join('\n\n'));
      return EXIT.success;
    }
    const pause = await choosePause({ runs, snapshot, pauses, wish, awaitId: flags.await, flags: repeatFlags(flags) });
    say(`${pause.agent_id}  ${pause.run_id}  ${pause.await_id}`);
    for (const line of questionLines(pause)) say(`  ${line}`);
    await submit(runs, pause, wish, flags.by ?? userInfo().username);
    say(`${outcomeOf(pause, wish)}`);
    return EXIT.success;
  });
}

/** Also for a person who answers where the run is shown. */
export async function submit(runs: RunCommands, pause: Pause, wish: Wish, answered_by: string): Promise<void> {
  const { run_id, await_id, digest = '' } = pause;
  switch (wish.kind) {
    case 'clarification':
      return runs.answerClarification(run_id, { await_id, answer: wish.text, answered_by });
    case 'approval': {
      const note = wish.note === undefined ? {} : { note: wish.note };
      // Of the snapshot that was shown: should the call be another one by now, the run refuses.
      return runs.decideApproval(run_id, { await_id, decision: wish.decision, digest, ...note, answered_by });
    }
    case 'external_tools':
      return runs.submitToolResults(run_id, { await_id, results: wish.results, answered_by });
  }
}

function wishOf(text: string | undefined, flags: AnswerFlags): Wish | undefined {
  const { approve = false, deny = false, note, result = [], error = [], declined = [] } = flags;
  const hasResults = result.length + error.length + declined.length > 0;
  const wishes = [text !== undefined, approve, deny, hasResults].filter(Boolean).length;
  if (wishes > 1) {
    throw new CommandError(
      'One answer at a time: give a text, or --approve, or --deny, or results (--result, --error, --declined).',
    );
  }
  if (note !== undefined && !approve && !deny) {
    throw new CommandError('--note goes with --approve or --deny.');
  }
  if (text !== undefined) {
    if (text.trim() === '') throw new CommandError('The answer is empty. Give a text.');
    return { kind: 'clarification', text };
  }
  if (approve || deny) {
    return { kind: 'approval', decision: approve ? 'approve' : 'deny', ...(note === undefined ? {} : { note }) };
  }
  if (hasResults) return { kind: 'external_tools', results: parseResults({ result, error, declined }) };
  if (flags.await !== undefined) throw new CommandError(`--await ${flags.await} says which pause, and not the answer.`);
  return undefined;
}

function outcomeOf({ calls = [] }: Pause, wish: Wish): string {
  if (wish.kind === 'approval') return wish.decision === 'approve' ? 'approved' : 'denied';
  if (wish.kind === 'clarification') return 'answered';
  const missing = calls.filter((call) => !wish.results.some((result) => result.tool_call_id === call.tool_call_id));
  if (missing.length === 0) return 'answered';
  return `taken; unless they were given before, results are missing for ${missing.map((call) => call.tool_call_id).join(', ')}`;
}
