/** `perdure answer`: answers a pause of a run or of one of its descendants, or says what there is to answer. */
import { userInfo } from 'node:os';
import { canAsk } from './approval-pages.js';
import { askAgain } from './ask-again.js';
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
  /** True: without the digest of the call. */
  approve?: string | boolean;
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

/**
 * A text for a call that waits for approval is a yes or a no. What is neither, and a yes to a call that nobody here has
 * shown to have read, is asked at a terminal, where the call is shown whole, and refused elsewhere.
 */
async function decided(wish: Wish, pauses: readonly Pause[], flags: AnswerFlags): Promise<Wish> {
  if (wish.kind === 'external_tools') return wish;
  const meant = pauses.filter((pause) => flags.await === undefined || pause.await_id === flags.await);
  const [approval, ...others] = meant.filter((pause) => pause.kind === 'approval');
  if (approval === undefined) return wish;
  if (wish.kind === 'clarification' && meant.some((pause) => pause.kind === 'clarification')) return wish;
  const decision = wish.kind === 'clarification' ? parseDecision(wish.text) : wish;
  if (decision?.decision === 'deny' || decision?.digest !== undefined) return decision;
  const refused = wish.kind === 'clarification' && decision === undefined ? wish.text : undefined;
  const again = others.length === 0 && canAsk() ? await askAgain(approval, refused) : undefined;
  if (again !== undefined) return { ...again, ...noteOf(flags) };
  const why = refused === undefined ? UNREAD : neitherYesNorNo(refused);
  const open = [approval, ...others].map((pause) => describePause(pause, pauses, repeatFlags(flags)).join('\n'));
  throw new CommandError(`${why}.\n\nOpen:\n\n${open.join('\n\n')}`);
}

const UNREAD = 'A call is approved by its digest, which says that it is the one that was read: --approve DIGEST';
const DIGEST = /^[0-9a-f]{8,16}$/;

function noteOf({ note }: AnswerFlags): { note?: string } {
  return note === undefined ? {} : { note };
}

function wishOf(text: string | undefined, flags: AnswerFlags): Wish | undefined {
  const { approve = false, deny = false, note, result = [], error = [], declined = [] } = flags;
  const hasResults = result.length + error.length + declined.length > 0;
  const wishes = [text !== undefined, approve !== false, deny, hasResults].filter(Boolean).length;
  if (wishes > 1) {
    throw new CommandError(
      'One answer at a time: give a text, or --approve, or --deny, or results (--result, --error, --declined).',
    );
  }
  if (note !== undefined && approve === false && !deny) {
    throw new CommandError('--note goes with --approve or --deny.');
  }
  if (text !== undefined) {
    if (text.trim() === '') throw new CommandError('The answer is empty. Give a text.');
    return { kind: 'clarification', text };
  }
  if (typeof approve === 'string' && !DIGEST.test(approve)) {
    throw new CommandError(`--approve takes the digest of the call, as the list shows it: "${approve}" is none.`);
  }
  if (deny) return { kind: 'approval', decision: 'deny', ...noteOf(flags) };
  if (approve !== false) {
    const digest = approve === true ? {} : { digest: approve };
    return { kind: 'approval', decision: 'approve', ...digest, ...noteOf(flags) };
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
