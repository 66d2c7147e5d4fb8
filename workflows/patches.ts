/**
 * Changes that replay sees, each with its story: what changed, since when, and when the old branch may go.
 */

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
