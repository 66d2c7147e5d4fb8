/** The goals of a run, pinned when it is resolved: each with its tool, or with why there can be none. */
import type { GoalSpec } from '../contract/agent-spec.js';
import { ACHIEVE_TOOL_PREFIX, achieveToolId } from '../contract/names.js';
import type { DeclaredGoal } from '../contract/run.js';
import type { ToolSpec } from '../contract/tools.js';
import type { RegisteredTool, Registry } from '../kit/registry.js';

export interface PinnedGoals {
  goals: GoalSpec[];
  tools: ToolSpec[];
}

export function pinGoals(registry: Registry, declared: readonly DeclaredGoal[]): PinnedGoals {
  const tools: ToolSpec[] = [];
  const goals = declared.map(({ goal_type, goal_data }, index): GoalSpec => {
    const goal = { goal_id: `goal_${index + 1}`, goal_type, goal_data };
    const known = registry.goals.get(goal_type);
    if (known === undefined) {
      const names = [...registry.goals.keys()].join(', ') || 'none';
      return { ...goal, problem: `there is no goal type "${goal_type}"; there are: ${names}` };
    }
    const parsed = known.type.data.safeParse(goal_data);
    if (!parsed.success) {
      const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'goal_data'}: ${issue.message}`);
      return { ...goal, problem: `its goal_data does not fit the type: ${issues.join('; ')}` };
    }
    const before = declared.slice(0, index).filter((other) => other.goal_type === goal_type).length;
    const tool_id = achieveToolId(goal_type, before + 1);
    const about = `${known.spec.description} This goal: ${JSON.stringify(goal_data)}`;
    tools.push({ ...known.spec, tool_id, description: about });
    return { ...goal, tool_id };
  });
  return { goals, tools };
}

/** The tool behind an id that `pinGoals` gave. */
export function achieveTool(registry: Registry, toolId: string): RegisteredTool | undefined {
  if (!toolId.startsWith(ACHIEVE_TOOL_PREFIX)) return undefined;
  const type = toolId.slice(ACHIEVE_TOOL_PREFIX.length).replace(/_\d+$/, '');
  return registry.goals.get(type);
}
