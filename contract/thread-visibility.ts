/** Who may read a thread beside the one who made it, where its request does not say it. No zod here. */
import type { ThreadVisibility } from './thread-records.js';

/** A thread that an agent of the org began is for the org. */
export function visibilityOf(request: {
  visibility?: ThreadVisibility | undefined;
  created_from_agent_id?: string | null | undefined;
}): ThreadVisibility {
  return request.visibility ?? (request.created_from_agent_id === undefined ? 'private' : 'org');
}
