/** Threads in a test: agents that play a script, and what one waits for. The script of a thread is its first message. */
import { z } from 'zod';
import type { BaseMessage } from '../../contract/messages.js';
import { READ_CONTEXT } from '../../contract/names.js';
import { readPages } from '../../contract/pages.js';
import type { Page, PageRequest } from '../../contract/pages.js';
import { applyDelta } from '../../contract/thread-delta.js';
import type { AgentMessage, AgentThreadRecord, AgentThreadStatus } from '../../contract/thread-records.js';
import type { Threads } from '../../client/index.js';
import type { ConfigOptions, RuntimeOptions } from '../../kit/index.js';
import { testConfig } from '../support/test-agents.js';
import { until } from '../support/world.js';
import type { World } from '../support/world.js';

export function threadConfig(runtime: RuntimeOptions = {}): ConfigOptions {
  return {
    ...testConfig(runtime),
    goals: {
      summary: {
        description: 'A summary was written.',
        data: z.object({ about: z.string() }),
        result: z.object({ text: z.string() }),
      },
    },
  };
}

export const client_tools = [{ name: 'client_look', description: 'Looks.', input_schema: { type: 'object' } }];

const THEIR_TURN: readonly AgentThreadStatus[] = ['user_turn', 'goals_failed', 'client_tool_turn'];

/** A test's own limit is what counts. */
const PATIENCE_MS = 110_000;

/** Until the agent has nothing more to do by itself. */
export async function settled(threads: Threads, threadId: string): Promise<AgentThreadRecord> {
  const isTheirs = async () => THEIR_TURN.includes((await threads.header(threadId)).status);
  await until(isTheirs, `thread ${threadId} to be somebody else's turn`, PATIENCE_MS);
  return threads.get(threadId);
}

/** The messages in a few words each. */
export function told({ messages }: { messages: readonly AgentMessage[] }): string[] {
  return messages.map(({ role, status, content }) => {
    const blocks = content.map((block) => {
      if (block.content_type === 'text') return block.text.startsWith('{') ? '(script)' : block.text.trim();
      if (block.content_type === 'tool_use') return `use ${block.tool_use_id}`;
      if (block.content_type === 'tool_result') return `${block.status} ${block.tool_use_id}`;
      return `error ${block.error_code}`;
    });
    return `${role} ${status}: ${blocks.join(' | ')}`;
  });
}

/** The conversation as models read it. */
export async function contextOf({ temporal }: World, threadId: string): Promise<BaseMessage[]> {
  const read = (request: PageRequest) =>
    temporal.workflow.getHandle(threadId).query<Page, [PageRequest]>(READ_CONTEXT, request);
  const messages: BaseMessage[] = [];
  for await (const { text } of readPages(read, 0)) messages.push(JSON.parse(text) as BaseMessage);
  return messages;
}

type Held = Pick<AgentThreadRecord, 'status' | 'title' | 'messages' | 'continuation_token'> & {
  goals: NonNullable<AgentThreadRecord['goals']>;
};

/** A reader that knows only deltas. */
export function follow(threads: Threads, record: AgentThreadRecord) {
  let held: Held = { ...record, goals: record.goals ?? [] };
  const statuses: AgentThreadStatus[] = [record.status];
  return {
    held: () => held,
    statuses,
    async poll() {
      const delta = await threads.delta(record.thread_id, held.continuation_token);
      held = { ...applyDelta(held, delta), continuation_token: delta.continuation_token };
      if (delta.status !== null) statuses.push(delta.status);
      return delta;
    },
  };
}
