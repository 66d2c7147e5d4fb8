/**
 * Questions and approvals of the open turn, as the thread takes the answers to them: it checks what can be checked,
 * shows at once that it is not the user's turn any more, and tells the run.
 *
 * Q1  A message that is sent while a question is shown is its answer, the oldest question's first. One that waited in
 *     the queue before is not, and one that interrupts is not.
 * Q2  An answer that comes too late (the question has expired, or was answered elsewhere, or the run is over) is not
 *     lost: it is the next message.
 * Q3  Words approve nothing: that takes a decision with the digest of the call that was read.
 */
import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { AnswerRules, ApprovalAnswer, ChildAwaitChange, ClarificationAnswer } from '../../contract/awaits.js';
import { ANSWER_CLARIFICATION, DECIDE_APPROVAL } from '../../contract/names.js';
import { toldAnswer } from '../../contract/pause-text.js';
import { answerRefused } from '../../contract/policy.js';
import { callerOf } from '../../contract/principal.js';
import type { Principal } from '../../contract/principal.js';
import { TEXT_LIMITS, utf8Bytes } from '../../contract/sizes.js';
import { malformedDecision } from '../../contract/thread-commands.js';
import type { DecideCommand, OpenPause, SendAnswer, SendCommand } from '../../contract/thread-commands.js';
import { textOf } from '../../contract/thread-context.js';
import { addSpoken } from './change-thread.js';
import { declareTools } from './client-tools.js';
import { refusal } from './refuse-command.js';
import { showWaiting } from './show-waiting.js';
import type { Said, Thread, Turn } from './thread-state.js';

/** The question that a message like this would answer. */
export function questionFor({ turn, pauses }: Thread, { on_busy }: SendCommand): OpenPause | undefined {
  if (turn === undefined || turn.cancellation !== undefined || on_busy === 'interrupt') return undefined;
  return pauses.find(({ kind, asked, held }) => kind === 'clarification' && asked !== undefined && held !== true);
}

/** Throws where the message cannot be the answer. */
export function checkAnswer(thread: Thread, question: OpenPause, { message, goals = [], by }: SendCommand): void {
  const what = `thread ${thread.thread_id} waits for the answer to ${question.await_id} of run ${question.run_id}`;
  if (goals.length > 0)
    throw refusal('invalid_request', `${what}, and its turn has its goals already: answer first, then declare goals`);
  const bytes = utf8Bytes(textOf(message.content));
  if (bytes > TEXT_LIMITS.answer)
    throw refusal('input_too_large', `${what}, which has at most ${TEXT_LIMITS.answer} bytes; this has ${bytes}`);
  checkTheirs(thread, question.rules, 'answers', by);
}

export function answerQuestion(thread: Thread, turn: Turn, question: OpenPause, said: Said, by: By): SendAnswer {
  const { run_id, await_id } = question;
  const answer: ClarificationAnswer = { await_id, answer: textOf(said.message.content), ...by };
  // For the turns to come: this one has what it began with.
  if (said.client_tools !== undefined) declareTools(thread, said.client_tools);
  if (said.analysis_scope !== undefined) thread.analysis_scope = said.analysis_scope;
  (turn.answering ??= []).push({ run_id, await_id, said });
  close(thread, question);
  getExternalWorkflowHandle(run_id)
    .signal(ANSWER_CLARIFICATION, answer)
    // It is over: the message is still among those that nobody has heard.
    .catch(() => {});
  return { thread_id: thread.thread_id, state: 'answered', run_id: turn.run_id, await_id };
}

/** A run says that a pause is over: whether by the answer that it was given here. */
export function confirmAnswer({ turn }: Thread, { link, await_id, resolution, answer }: ChildAwaitChange): void {
  if (turn?.answering === undefined) return;
  const isHeard = (given: string) =>
    resolution === undefined || (resolution === 'answered' && (answer ?? toldAnswer(given)) === toldAnswer(given));
  turn.answering = turn.answering.filter(
    (each) => each.run_id !== link.run_id || each.await_id !== await_id || !isHeard(textOf(each.said.message.content)),
  );
}

/** At the end of a turn: what was said to it and never heard. Where the turn was stopped, nothing begins by it. */
export function keepUnheard(thread: Thread, { answering = [], cancellation }: Turn): void {
  const said = answering.map((each) => each.said);
  if (cancellation === undefined) thread.queue.unshift(...said);
  else for (const { message } of said) addSpoken(thread, message);
}

/** Throws where the decision cannot be taken. */
export function checkDecision(thread: Thread, command: unknown): void {
  const refuse = (why: string) => refusal('invalid_request', `thread ${thread.thread_id} refused the decision: ${why}`);
  const shape = malformedDecision(command);
  if (shape !== undefined) throw refuse(shape);
  const { tool_use_id, digest, by } = command as DecideCommand;
  const pause = approvalOf(thread, tool_use_id);
  if (pause === undefined) {
    const open = thread.pauses.flatMap(({ kind, asked, held }) =>
      kind === 'approval' && asked !== undefined && held !== true ? [asked.tool_use_id] : [],
    );
    const list = open.length === 0 ? 'Nothing waits for approval' : `Open: ${open.join(', ')}`;
    throw refuse(
      `${tool_use_id.slice(0, 200)} does not wait for approval: it was decided, or was never asked. ${list}`,
    );
  }
  if (pause.asked?.digest === undefined)
    throw refuse(
      `${tool_use_id} is too long to be shown in a thread: read it in the log of run ${pause.run_id}, and decide it there, with the digest of its await_approval`,
    );
  if (pause.asked.digest !== digest)
    throw refuse(
      `the digest is not that of ${tool_use_id}: what would be decided is another call than the one that waits`,
    );
  checkTheirs(thread, pause.rules, 'approvals', by);
}

/** Takes a decision that was not refused. */
export async function decide(thread: Thread, command: DecideCommand): Promise<void> {
  const { tool_use_id, decision, digest, note, by, answered_by } = command;
  const pause = approvalOf(thread, tool_use_id);
  if (pause === undefined) return;
  close(thread, pause);
  const { run_id, await_id } = pause;
  const answer: ApprovalAnswer = {
    await_id,
    decision,
    digest,
    ...(note === undefined ? {} : { note }),
    ...(by === undefined ? {} : { by }),
    ...(answered_by === undefined ? {} : { answered_by }),
  };
  try {
    await getExternalWorkflowHandle(run_id).signal(DECIDE_APPROVAL, answer);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw refusal('run_ended', `run ${run_id} ended before it could be told the decision: ${why}`);
  }
}

type By = Pick<SendCommand, 'by' | 'answered_by'>;

function approvalOf({ turn, pauses }: Thread, toolUseId: string): OpenPause | undefined {
  if (turn?.cancellation !== undefined) return undefined;
  return pauses.find(
    ({ kind, asked, held }) => kind === 'approval' && asked?.tool_use_id === toolUseId && held !== true,
  );
}

function close(thread: Thread, pause: OpenPause): void {
  thread.pauses = thread.pauses.filter((other) => other !== pause);
  showWaiting(thread);
}

/** The run checks it once more. */
export function checkTheirs(
  { opened }: Thread,
  rules: AnswerRules = [],
  kind: 'answers' | 'approvals',
  by: Principal | undefined,
): void {
  if (by === undefined || opened === undefined) return;
  const why = answerRefused(rules, kind, by, callerOf(opened.request).principal);
  if (why !== undefined) throw refusal('forbidden', why);
}
