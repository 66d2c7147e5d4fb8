/** What a reader asks of messages and goals, as the published client of threads asks it. */
import { z } from 'zod';
import type { AgentMessage, AgentMessageStatus, AgentThreadGoalRecord, AskedPause } from './thread-records.js';

const TERMINAL: readonly AgentMessageStatus[] = ['completed', 'failed', 'cancelled'];

/** Nothing more will come of a message with this status. */
export function isTerminal(status: AgentMessageStatus): boolean {
  return TERMINAL.includes(status);
}

export function isComplete({ status }: Pick<AgentMessage, 'status'>): boolean {
  return status === 'completed';
}

export function isUnsuccessful({ status }: Pick<AgentMessage, 'status'>): boolean {
  return status === 'failed' || status === 'cancelled';
}

/** What a message asks of people: whichever release has stored it. */
export function asksOf({ content, asks }: Pick<AgentMessage, 'content' | 'asks'>): AskedPause[] {
  const inBlocks = content.flatMap((block) => (block.content_type === 'text' ? (block.asks ?? []) : []));
  return asks === undefined ? inBlocks : [asks, ...inBlocks];
}

type DeclaredGoal = { goal_type: string } & Record<string, unknown>;

/**
 * The goal as its caller declared it, its data beside its type; checked where a schema is given, which throws what zod
 * throws. A record that came over HTTP has its type among the data already.
 */
export function toAgentGoal(goal: Pick<AgentThreadGoalRecord, 'goal_type' | 'goal_data'>): DeclaredGoal;
export function toAgentGoal<T extends z.ZodType>(
  goal: Pick<AgentThreadGoalRecord, 'goal_type' | 'goal_data'>,
  schema: T,
): z.output<T>;
export function toAgentGoal(
  { goal_type, goal_data }: Pick<AgentThreadGoalRecord, 'goal_type' | 'goal_data'>,
  schema: z.ZodType = z.unknown(),
): unknown {
  return schema.parse({ ...goal_data, goal_type });
}
