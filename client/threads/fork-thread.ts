/** A fork: a new private thread with the messages of another up to one. The source is untouched. */
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@temporalio/client';
import type { ArtefactStore } from '../../contract/artefacts.js';
import { PerdureError } from '../../contract/errors.js';
import type { RequestMark } from '../../contract/request-mark.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { checkThreadRequest } from '../../contract/thread-request.js';
import type { ThreadReader } from './read-thread.js';
import { newThreadId, startThread } from './start-thread.js';

export interface ForkOptions {
  /** The last message that the fork has. */
  message_sequence_num: number;
  thread_id?: string;
  /** Whoever forks it, and their roles: the fork works for them. Absent: for whom the thread works. */
  created_by?: string;
  roles?: string[];
  /** What of a message whoever forks may read: the fork has no more of it, nor a summary of more. */
  shown?(message: AgentMessage): AgentMessage;
  mark?: RequestMark;
}

interface Forking {
  client: Client;
  reader: ThreadReader;
  artefacts: ArtefactStore | undefined;
  taskQueue: string;
  signalLive: boolean;
}

/** The new thread's id. */
export async function forkThread(
  { client, reader, artefacts, taskQueue, signalLive }: Forking,
  threadId: string,
  { message_sequence_num, thread_id, created_by, roles, shown, mark }: ForkOptions,
): Promise<string> {
  const { header, messages } = await reader.read(threadId, 0);
  const whole = messages.slice(0, message_sequence_num + 1);
  const kept = shown === undefined ? whole : whole.map(shown);
  if (!Number.isInteger(message_sequence_num) || message_sequence_num < 0 || kept.length <= message_sequence_num) {
    const count = `thread ${threadId} has ${messages.length} finished messages`;
    throw new PerdureError('invalid_request', `message_sequence_num ${message_sequence_num}: ${count}`);
  }
  const id = thread_id ?? newThreadId(header.agent_id);
  await artefacts?.copy(artefactsNamedIn(kept), threadId, id);
  const { org_id, created_by: creator } = header.record;
  // Of a profile that nobody asked for, the fork's agent decides again.
  const {
    compaction,
    roles: rolesBefore,
    metadata,
    model_profile = header.record.model_profile,
    ...settings
  } = await reader.settings(threadId);
  const isSame = created_by === undefined || created_by === creator;
  const own = roles ?? (isSame ? rolesBefore : undefined);
  // A summary of more than the fork has would tell it of its future.
  const isKnown = compaction !== undefined && compaction.from <= kept.length && isDeepStrictEqual(kept, whole);
  const request = checkThreadRequest({
    agent_id: header.agent_id,
    ...(org_id === '' ? {} : { org_id }),
    ...((created_by ?? creator) === '' ? {} : { created_by: created_by ?? creator }),
    ...(own === undefined ? {} : { roles: own }),
    // What somebody else's request said of them is not said of whoever forks.
    ...(isSame && metadata !== undefined ? { metadata } : {}),
    thread_id: id,
    ...(mark === undefined ? {} : { mark }),
    ...(header.title === null ? {} : { title: header.title }),
    ...(signalLive ? { signal_live: true } : {}),
    ...settings,
    model_profile,
    visibility: 'private',
    forked_from: {
      thread_id: threadId,
      message_sequence_num,
      messages: kept,
      ...(isKnown ? { compaction } : {}),
    },
  });
  return startThread(client, reader, taskQueue, request);
}

/** What messages refer to goes along with a fork: its own scope is all that its runs can read. */
function artefactsNamedIn(messages: readonly unknown[]): string[] {
  return [...new Set(JSON.stringify(messages).match(/\bart_[0-9a-f]{64}\b/g))];
}
