/** The goal types of a configuration, each with the tool by which a model says that such a goal is reached. */
import { z } from 'zod';
import { ACHIEVE_TOOL_PREFIX } from '../contract/names.js';
import type { ToolSpec } from '../contract/tools.js';
import type { GoalType } from './define-config.js';
import { defineTool } from './define-tool.js';
import type { Tool } from './define-tool.js';
import { toolSpec } from './tool-spec.js';
import type { Note } from './tool-spec.js';

export interface RegisteredGoal {
  type: GoalType;
  tool: Tool;
  spec: ToolSpec;
}

/** A number at the end tells apart several goals of one type, so a type's name has none. */
const GOAL_TYPE_PATTERN = /^[a-z](?:[a-z0-9_]*[a-z])?$/;

export function registerGoals(types: Record<string, GoalType>, note: Note): Map<string, RegisteredGoal> {
  const goals = new Map<string, RegisteredGoal>();
  for (const [name, type] of Object.entries(types)) {
    const field = `goals.${name}`;
    if (!GOAL_TYPE_PATTERN.test(name))
      note(field, 'is no name of a goal type: write it in [a-z0-9_], with a letter at both ends');
    if (!type.description?.trim()) note(`${field}.description`, 'is missing: the model must know what the goal means');
    if (!(type.data instanceof z.ZodObject)) note(`${field}.data`, 'must be a zod object');
    const tool = defineTool({
      tool_id: `${ACHIEVE_TOOL_PREFIX}${name}`,
      description: `Says that the goal "${name}" is achieved. ${type.description}`,
      input: type.result ?? z.object({}),
      idempotent: true,
      run: () => 'The goal is achieved.',
    });
    goals.set(name, { type, tool, spec: { ...toolSpec(tool, `${field}.result`, note), kind: 'goal' } });
  }
  return goals;
}
