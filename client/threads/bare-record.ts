/** A thread without its messages and goals; the first delta with its token has them all. */
import type { ThreadHeader } from '../../contract/thread-commands.js';
import type { AgentThreadRecord } from '../../contract/thread-records.js';
import { writeToken } from './continuation-token.js';

export function bareRecord({ record, title, status }: ThreadHeader): AgentThreadRecord {
  const continuation_token = writeToken(record.thread_id, { counter: 0 });
  return { ...record, title, status, messages: [], goals: null, continuation_token };
}
