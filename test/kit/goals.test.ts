/** Goal types of a configuration. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { achieveTool, pinGoals } from '../../activities/pin-goals.js';
import { defineAgent, defineConfig } from '../../kit/index.js';
import type { ConfigOptions } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import { scripted } from '../../providers/index.js';

const registryOf = (goals: NonNullable<ConfigOptions['goals']>) =>
  createRegistry(
    defineConfig({
      agents: [defineAgent({ agent_id: 'test.agent', instructions: 'x' })],
      models: { only: { provider: scripted({ turns: [] }), model: 'x' } },
      goals,
    }),
  );
const summary = { description: 'It is there.', data: z.object({ about: z.string() }) };

it('mistakes in goal types are reported with their field, all at once', () => {
  const wrong = { ...summary, description: ' ', data: z.string() as unknown as typeof summary.data };
  const make = () => registryOf({ Summary: summary, summary_2: summary, wrong });
  expect(make).toThrow(/goals\.Summary is no name[^]*goals\.summary_2 is no name[^]*wrong\.description[^]*wrong\.data/);
});

it('each goal gets a tool of its own, which leads back to its type', () => {
  const registry = registryOf({ summary });
  const goal = { goal_type: 'summary', goal_data: { about: 'x' } };
  const { goals, tools } = pinGoals(registry, [goal, goal, { goal_type: 'flight', goal_data: {} }]);
  const ids = ['runtime.goals.achieve_summary', 'runtime.goals.achieve_summary_2'];
  expect(tools.map((tool) => tool.tool_id)).toEqual(ids);
  expect(goals).toMatchObject([
    { goal_id: 'goal_1', tool_id: ids[0] },
    { goal_id: 'goal_2', tool_id: ids[1] },
    { goal_id: 'goal_3', problem: expect.stringContaining('"flight"') },
  ]);
  for (const id of ids) expect(achieveTool(registry, id)).toBe(registry.goals.get('summary'));
  expect(achieveTool(registry, 'runtime.goals.achieve_flight')).toBeUndefined();
});
