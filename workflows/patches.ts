/**
 * Changes that replay sees, each with its story: what changed, since when, and when the old branch may go.
 *
 * There are two kinds. A change that only a rare moment meets is behind `patched()`, whose marker costs that history two
 * events. A change that every run or thread would meet is a revision, and costs none: the workflow gives the number that
 * it knows to its first activity, which gives it back with what is pinned. So the number is in the history, and it is
 * the workflow's own: a worker of before gave none, whichever worker answered.
 */

/**
 * The newest revision. A run or thread follows the one that it began with; where that is known at all, its next part
 * after continue-as-new follows the newest. A worker that meets a newer one than its own leaves the task to others.
 *
 * 1 (0.5)  A run that waits writes nothing: its phase is shown in tasks that have something to say, without a timer
 *          (before: one timer after another, for as long as it waited); what it waits for is a search attribute; a long
 *          pause continues as new when it is over, not when it has lasted ten minutes. A thread shows its status also
 *          while its turn waits. After a deadline, a synthesis pass that the vendor refuses as too long is compacted and
 *          made again, as any other call. The branches without a revision may go when no run or thread is open that
 *          began under 0.4.
 * 2 (0.8)  What is written into a log or a record, in the same commands as before but for the last:
 *          - `policy_decided` of a call whose approval a function decides comes when the function has said it, and is
 *            `approve` where it asks for one (before: `allow`, before it was asked);
 *          - `tool_requested` and `tool_result` of a tool that is denied have its `tool_id`;
 *          - a thread keeps the blocks of a message as they came (before: as one text), and models read a blank line
 *            between the texts of one message (before: nothing, but for the message that begins a turn);
 *          - tools that a client declares later join those that it has declared (before: they took their place);
 *          - an approval shows what the tool would be given, and how it is to be shown where that is not plain;
 *          - who may answer a run whose agent does not say so is not widened by what its request or an ancestor says;
 *          - a thread has bounds (`thread/thread-room.ts`), also where messages come in a batch or have waited: such a
 *            message is refused, or answered by an error in the place of a run.
 *          A log that is open is made anew by each replay, so what was read of it must not change under its readers.
 *          The branches may go when no run or thread is open that began under 0.7.
 */
export const REVISION = 2;

/** What is written as of revision 2: see its list. */
export function isSince2(revision: number | undefined): boolean {
  return revision !== undefined && revision >= 2;
}

/** Thrown as it is: the workflow task fails, and is retried until a worker has it that knows the revision. */
export class NewerRevision extends Error {
  override readonly name = 'NewerRevision';
}

export function checkRevision(revision: number | undefined): void {
  if (revision === undefined || revision <= REVISION) return;
  throw new NewerRevision(
    `This was begun by a worker of revision ${revision}, and this one knows revision ${REVISION}: it waits for a worker of a newer release.`,
  );
}

/**
 * 0.3. A child whose start is on its way to the server is canceled once it has started. Before, the cancel was sent at
 * once; it failed where it overtook the start ("target not found"), the child ran on, and its parent waited for it.
 * Used only by a cancel in that moment, so other histories have no marker. The old branch may go when no run that was
 * open under 0.2 is left.
 */
export const CANCEL_AFTER_START = 'cancel-after-start';

/**
 * 0.4. A model call that the vendor refuses as too long is made again once, after the conversation was compacted.
 * Before, the run failed. Used only by such a refusal, so other histories have no marker. The old branch may go when
 * no run that was open under 0.3 is left.
 */
export const COMPACT_REFUSED = 'compact-refused';

/**
 * 0.6. What a signal, or one message of a batch, brings beyond the table of sizes (`contract/sizes.ts`) is refused, and
 * a note is cut. Before, it was taken at any size. Used only where something is too large, so other histories have no
 * marker. The old branch may go when no run or thread that was open under 0.5 is left.
 */
export const BOUNDED_TEXTS = 'bounded-texts';

/**
 * 0.7. A question or an approval of a thread's turn is the user's turn, and the thread takes the answer to it: the next
 * message, or a decision. Before, the thread stayed at work, and both were answered at the run. Used only by such a
 * pause, so other histories have no marker. The old branch may go when no thread that was open under 0.6 is left.
 */
export const THREAD_PAUSES = 'thread-pauses';

/**
 * 0.8. While the client owes results of its tools, a question of the same turn is not shown and not answered by the
 * thread, and neither is an approval of an agent that is used as a tool; they come after the results. And while one of
 * the client's tools waits for leave, it is not the client's turn. Before, all was shown at once: published clients did
 * not find the uses of their tools any more, or ran one that had no leave yet. Used only where two of these are open, or
 * a client tool waits for leave, so other histories have no marker. The old branch may go when no thread that was open
 * under 0.7 is left.
 */
export const HELD_PAUSES = 'held-pauses';

/**
 * 0.8. A run or a thread takes its commands also as the signal `command`. Before, such a signal was not known, and
 * nothing came of it; it must not come to something when that history is replayed. Used only by such a signal, so other
 * histories have no marker. The old branch may go when no run or thread that was open under 0.7 is left.
 */
export const COMMAND_SIGNALS = 'command-signals';
