/** What a thread can be told. */
import { getExternalWorkflowHandle } from '@temporalio/workflow';
import {
  CANCEL_TURN,
  DECIDE_APPROVAL,
  DELETE_THREAD,
  PIN_THREAD,
  RENAME_THREAD,
  SEND_MESSAGE,
  SEND_MESSAGES,
  SUBMIT_TOOL_RESULTS,
} from '../../contract/names.js';
import { CHARACTER_LIMITS, SEND_BATCH_MESSAGES } from '../../contract/sizes.js';
import type {
  CancelTurnAnswer,
  DecideCommand,
  PinCommand,
  SendAnswer,
  SendBatch,
  SendBatchAnswer,
  SendCommand,
  SubmitCommand,
} from '../../contract/thread-commands.js';
import type { Command } from '../commands.js';
import { checkDecision, decide } from './answer-pauses.js';
import { setTitle } from './change-thread.js';
import { checkTools, declareTools } from './client-tools.js';
import { checkGiver, refusedResults, takeResults } from './pending-tools.js';
import { refusal, refuseDeleted, refuseOversized } from './refuse-command.js';
import { cancelTurn } from './show-waiting.js';
import { checkSend, refuseWhereFull, sendOfBatch, sendOnce } from './take-messages.js';
import { isTaken, note, once, unlessTaken } from './taken-commands.js';
import { checkRoom } from './thread-room.js';
import type { Thread } from './thread-state.js';

export function threadCommands(thread: Thread): Record<string, Command> {
  const { thread_id } = thread;
  const send: Command<SendCommand> = {
    check: (command, id) =>
      unlessTaken(thread, id, () => {
        checkSend(thread, command);
        refuseOversized(thread, command);
        checkRoom(thread, command);
      }),
    take: (command, id): SendAnswer => once(thread, id, () => sendOnce(thread, command)),
    description: 'Say something: {"message": {"role": "user", "content": [{"content_type": "text", "text": "…"}]}}',
  };
  const sendAll: Command<SendBatch> = {
    check(batch) {
      refuseDeleted(thread);
      const commands: unknown = (batch as { commands?: unknown } | null | undefined)?.commands;
      if (!Array.isArray(commands) || commands.length === 0 || commands.length > SEND_BATCH_MESSAGES)
        throw refusal('invalid_request', `commands: must be a list of 1 to ${SEND_BATCH_MESSAGES} messages`);
      refuseWhereFull(thread, commands);
    },
    take: ({ commands }): SendBatchAnswer => commands.map((command) => sendOfBatch(thread, command)),
    description: 'Say several things, one after another: {"commands": [{"key": "…", "message": {…}}]}',
  };
  const results: Command<SubmitCommand> = {
    check: (command, id) =>
      unlessTaken(thread, id, () => {
        refuseDeleted(thread);
        refuseOversized(thread, command);
        const why = refusedResults(thread, command);
        if (why !== undefined) throw refusal('invalid_request', `thread ${thread_id} refused the results: ${why}`);
        checkTools(thread, command);
        checkGiver(thread, command);
      }),
    async take(command, id) {
      const isRepeated = isTaken(thread, id);
      if (!isRepeated) note(thread, id, null);
      if (!isRepeated) await submit(thread, command);
      return { thread_id };
    },
    description: 'Results of your tools: {"tool_results": [{"tool_use_id": "…", "status": "success", "output": …}]}',
  };
  const decision: Command<DecideCommand> = {
    check: (command, id) =>
      unlessTaken(thread, id, () => {
        refuseDeleted(thread);
        refuseOversized(thread, command);
        checkDecision(thread, command);
      }),
    async take(command, id) {
      const isRepeated = isTaken(thread, id);
      if (!isRepeated) note(thread, id, null);
      if (!isRepeated) await decide(thread, command);
      return { thread_id };
    },
    description: 'Approve or deny a call: {"tool_use_id": "…", "decision": "approve", "digest": "…"}',
  };
  const cancel: Command = {
    check: () => refuseDeleted(thread),
    take(): CancelTurnAnswer {
      const run_id = cancelTurn(thread, { reason: 'user_requested' });
      return { thread_id, ...(run_id === undefined ? {} : { run_id }) };
    },
    description: 'Stop the turn that is going on; the thread goes on',
  };
  const rename: Command<{ title: string }> = {
    check(command) {
      refuseDeleted(thread);
      const title: unknown = (command as { title?: unknown } | undefined)?.title;
      if (typeof title !== 'string' || title.trim() === '' || title.length > CHARACTER_LIMITS.title)
        throw refusal('invalid_request', `title: must be a text of 1 to ${CHARACTER_LIMITS.title} characters`);
    },
    take({ title }) {
      setTitle(thread, title);
      return { thread_id };
    },
    description: 'Give the thread another title: {"title": "…"}',
  };
  const remove: Command = {
    take() {
      thread.deleted = true;
      thread.queue = [];
      cancelTurn(thread, { reason: 'thread_deleted' });
      return { thread_id };
    },
    description: 'End the open turn and the thread, for good',
  };
  const pin: Command<PinCommand> = {
    check(command) {
      refuseDeleted(thread);
      refuseOversized(thread, command);
      const { by, pinned } = ((command as unknown) ?? {}) as Partial<PinCommand>;
      if (typeof by !== 'string' || typeof pinned !== 'boolean')
        throw refusal('invalid_request', 'a pin is {"by": "…", "pinned": true or false}');
    },
    take({ by, pinned }) {
      if (pinned) thread.pins[by] ??= new Date().toISOString();
      else delete thread.pins[by];
      return { thread_id };
    },
    description: 'A bookmark of one reader: {"by": "…", "pinned": true}',
  };
  return {
    [SEND_MESSAGE]: send,
    [SEND_MESSAGES]: sendAll,
    [SUBMIT_TOOL_RESULTS]: results,
    [DECIDE_APPROVAL]: decision,
    [CANCEL_TURN]: cancel,
    [RENAME_THREAD]: rename,
    [DELETE_THREAD]: remove,
    [PIN_THREAD]: pin,
  };
}

async function submit(thread: Thread, command: SubmitCommand): Promise<void> {
  if (Array.isArray(command.client_tools)) declareTools(thread, command.client_tools);
  for (const { run_id, answer } of takeResults(thread, command)) {
    try {
      await getExternalWorkflowHandle(run_id).signal(SUBMIT_TOOL_RESULTS, answer);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw refusal('run_ended', `run ${run_id} ended before it could be given the results: ${why}`);
    }
  }
}
