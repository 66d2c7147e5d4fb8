/** `perdure answer`: answers a pause of a run or of one of its descendants, or says what there is to answer. */
import { userInfo } from 'node:os';
import { askAgain, canAsk } from './ask-again.js';
import { choosePause, nothingOpen } from './choose-pause.js';
import { CommandError } from './command-error.js';
import { connectToRuns, readRuns } from './connect-to-runs.js';
import { describePause, questionLines } from './describe-pause.js';
import { EXIT } from './exit-codes.js';
import { readPauses } from './open-pauses.js';
import type { Pause } from './open-pauses.js';
import { neitherYesNorNo, parseDecision } from './parse-decision.js';
import { parseResults } from './parse-results.js';
import { repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import { submit } from './submit-answer.js';
import type { Wish } from './submit-answer.js';
import { printable } from './text-width.js';
import { stdout } from './own-output.js';

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

export function answer(runId: string, text: string | undefined, flags: AnswerFlags): Promise<number> {
  const given = wishOf(text, flags);
  const connect = given === undefined ? readRuns : connectToRuns;
  return connect(runId, flags, async ({ client: { runs } }) => {
    const snapshot = await runs.get(runId);
    const pauses = await readPauses(runs, snapshot);
    const say = (line: string) => void stdout.write(`${printable(line)}\n`);
    if (given === undefined) {
      if (pauses.length === 0) say(nothingOpen(snapshot));
      else say(pauses.map((pause) => describePause(pause, pauses, repeatFlags(flags)).join('\n')).join('\n\n'));
      return EXIT.success;
    }
    const wish = await decided(given, pauses, flags);
    const pause = await choosePause({ runs, snapshot, pauses, wish, awaitId: flags.await, flags: repeatFlags(flags) });
    say(`${pause.agent_id}  ${pause.run_id}  ${pause.await_id}`);
    for (const line of questionLines(pause)) say(`  ${line}`);
    await submit(runs, pause, wish, flags.by ?? userInfo().username);
    say(`${outcomeOf(pause, wish)}`);
    return EXIT.success;
  });
}

/** A text for a call that waits for approval is a yes or a no; where it is neither, the person is asked again. */
async function decided(wish: Wish, pauses: readonly Pause[], flags: AnswerFlags): Promise<Wish> {
  if (wish.kind !== 'clarification') return wish;
  const meant = pauses.filter((pause) => flags.await === undefined || pause.await_id === flags.await);
  const [approval, ...others] = meant.filter((pause) => pause.kind === 'approval');
  if (approval === undefined || meant.some((pause) => pause.kind === 'clarification')) return wish;
  const decision = parseDecision(wish.text);
  if (decision !== undefined) return decision;
  const again = others.length === 0 && canAsk() ? await askAgain(approval, wish.text) : undefined;
  if (again !== undefined) return again;
  const open = describePause(approval, pauses, repeatFlags(flags));
  throw new CommandError(`${neitherYesNorNo(wish.text)}.\n\nOpen:\n\n${open.join('\n')}`);
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
