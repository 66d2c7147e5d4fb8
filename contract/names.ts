/** Names that both sides of Temporal say. Changing one breaks runs in flight. No zod here. */

export const TASK_QUEUE = 'perdure';
export const RUN_WORKFLOW = 'agentRun';
export const THREAD_WORKFLOW = 'agentThread';
/** Started by a schedule: it has ended runs copied into the archive that were missed. */
export const SWEEP_WORKFLOW = 'archiveSweep';

/** An update and a signal of the same name and shape. */
export const CANCEL = 'cancel';
/** Answers to awaits: each an update that validates and a signal of the same name and shape. */
export const ANSWER_CLARIFICATION = 'answer_clarification';
export const SUBMIT_TOOL_RESULTS = 'submit_tool_results';
export const DECIDE_APPROVAL = 'decide_approval';
/** From a child to its parent: it pauses for someone, or goes on. */
export const CHILD_AWAIT = 'child_await';
/** A signal to a run or a thread: one of its commands, where the server takes no more updates (`command-signal.ts`). */
export const COMMAND = 'command';
/** What became of a command that came as a signal. */
export const READ_OUTCOME = 'read_outcome';
/** The `temporal` live channel: a batch of live events, as a signal. */
export const LIVE_SIGNAL = 'live';

/** Updates of a thread; `submit_tool_results` is there too, with the ids of tool uses. */
export const SEND_MESSAGE = 'send_message';
export const SEND_MESSAGES = 'send_messages';
export const CANCEL_TURN = 'cancel_turn';
export const RENAME_THREAD = 'rename';
export const DELETE_THREAD = 'delete';
export const PIN_THREAD = 'pin';
/** A signal from whoever reads a thread: it has seen what its own requests did. */
export const ACKNOWLEDGE = 'acknowledge';

/** A thread's messages with its header; its conversation as the model reads it is `read_context`, as for a run. */
export const READ_THREAD = 'read_thread';
/** The messages that wait for their turn, in pages. */
export const READ_QUEUE = 'read_queue';
/** What a fork takes along beside the messages. */
export const READ_SETTINGS = 'read_settings';
export const READ_LOG = 'read_log';
export const READ_CONTEXT = 'read_context';
export const SNAPSHOT = 'snapshot';

/** Begins the message of a query that was refused for a moment: `workflows/refuse-early-events.ts`. */
export const EARLY_EVENTS = 'EarlyEvents';

/**
 * Search attributes, all of type Keyword. `PerdureWaiting` is the kind of the oldest pause that is open in the run or
 * below it, and not set where nothing waits.
 */
export const SEARCH_ATTRIBUTES = [
  'PerdureAgentId',
  'PerdurePhase',
  'PerdureRootRunId',
  'PerdureParentRunId',
  'PerdureThreadId',
  'PerdureThreadStatus',
  'PerdureOrgId',
  'PerdureCreatedBy',
  'PerdureWaiting',
] as const;
export type SearchAttributeName = (typeof SEARCH_ATTRIBUTES)[number];

/** Memo of a run, written when it is started: there at once, unlike what the run itself sets later. */
export const MEMO = {
  org_id: 'perdure_org_id',
  created_by: 'perdure_created_by',
  /** SHA-256 of the request, to tell a repeated start from another one with the same id. */
  request_digest: 'perdure_request_digest',
} as const;

/** Memo of a thread, beside who owns it: who may read it is known without a worker. */
export const THREAD_MEMO = { visibility: 'perdure_visibility' } as const;

/** The tool that reads on in an output that was trimmed. */
export const READ_OUTPUT_TOOL = 'runtime.outputs.read_output';

/** The tool by which an agent asks its user. */
export const ASK_CLARIFICATION_TOOL = 'runtime.user.ask_clarification';

/** The tools by which a turn's goals are reached: this, the goal's type, and a number where there are several. */
export const ACHIEVE_TOOL_PREFIX = 'runtime.goals.achieve_';

/** Of the nth goal of its type in a turn, from 1. */
export function achieveToolId(goalType: string, n: number): string {
  return `${ACHIEVE_TOOL_PREFIX}${goalType}${n === 1 ? '' : `_${n}`}`;
}

/** A reference to the artefact store in the place of a media part's data. */
export const ARTEFACT_URL_PREFIX = 'artefact:';
