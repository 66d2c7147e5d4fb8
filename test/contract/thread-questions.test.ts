/** What a reader asks of messages and goals. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  AgentMessageStatus,
  CLIENT_TOOL_NAME_PREFIX,
  ClientToolSpec,
  isComplete,
  isTerminal,
  isUnsuccessful,
  toAgentGoal,
} from '../../contract/index.js';

it('says of every status of a message whether it is final, good or bad', () => {
  const words = AgentMessageStatus.options.map((status) => [
    status,
    [isTerminal(status), isComplete({ status }), isUnsuccessful({ status })],
  ]);
  expect(Object.fromEntries(words)).toEqual({
    not_started: [false, false, false],
    generating: [false, false, false],
    completed: [true, true, false],
    failed: [true, false, true],
    cancelled: [true, false, true],
  });
});

it('gives back the goal as it was declared, from a record and from one that came over HTTP', () => {
  const declared = { goal_type: 'dataset_summary', dataset_id: 'ds_1' };
  expect(toAgentGoal({ goal_type: 'dataset_summary', goal_data: { dataset_id: 'ds_1' } })).toEqual(declared);
  expect(toAgentGoal({ goal_type: 'dataset_summary', goal_data: declared })).toEqual(declared);
  const Summary = z.object({ goal_type: z.literal('dataset_summary'), dataset_id: z.string() });
  const goal = toAgentGoal({ goal_type: 'dataset_summary', goal_data: { dataset_id: 'ds_1' } }, Summary);
  expect(goal.dataset_id).toBe('ds_1');
  expect(() => toAgentGoal({ goal_type: 'other', goal_data: {} }, Summary)).toThrow(/dataset_summary/);
});

it('the prefix of a client’s tools is the one that their names must have', () => {
  const spec = { description: 'Looks.', input_schema: { type: 'object' } };
  expect(ClientToolSpec.safeParse({ ...spec, name: `${CLIENT_TOOL_NAME_PREFIX}look` }).success).toBe(true);
  expect(ClientToolSpec.safeParse({ ...spec, name: 'look' }).success).toBe(false);
});
