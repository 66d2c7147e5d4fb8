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
 * 2 (0.8)  What is written into a log or a record, in the same commands as before:
 *          - `policy_decided` of a call whose approval a function decides comes when the function has said it, and is
 *            `approve` where it asks for one (before: `allow`, before it was asked);
 *          - `tool_requested` and `tool_result` of a tool that is denied have its `tool_id`.
 *          A log that is open is made anew by each replay, so what was read of it must not change under its readers.
 *          The branches may go when no run or thread is open that began under 0.7.
 */
export const REVISION = 2;

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
