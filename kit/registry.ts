/**
 * The sealed registry: everything a worker can run, checked before it polls. All mistakes of a configuration are
 * reported at once, each with its file and field.
 */
import { PolicySpec } from '../contract/agent-spec.js';
import type { RuntimeSpec } from '../contract/agent-spec.js';
import { parseDuration } from '../contract/durations.js';
import type { KeySource } from '../contract/encryption-keys.js';
import { PerdureError } from '../contract/errors.js';
import {
  AGENT_ID_PATTERN,
  hasClientName,
  isClientToolId,
  TOOL_ID_PATTERN,
  TOOLSET_ID_PATTERN,
} from '../contract/ids.js';
import { RunLimits } from '../contract/limits.js';
import { ASK_CLARIFICATION_TOOL } from '../contract/names.js';
import { checkProfiles } from '../contract/own-profiles.js';
import type { Policy } from '../contract/policy.js';
import type { OwnProfiles } from '../contract/profiles.js';
import { DEFAULT_MAX_OUTPUT_TOKENS } from '../contract/reservation.js';
import type { ToolSpec } from '../contract/tools.js';
import { THREAD_BYTES } from '../contract/sizes.js';
import type { Agent, AgentOptions } from './define-agent.js';
import type { Config, ModelProfile, RuntimeOptions } from './define-config.js';
import type { Tool } from './define-tool.js';
import { toolsetIdOf } from './define-toolset.js';
import type { Toolset } from './define-toolset.js';
import { checkFallbacks } from './model-fallback.js';
import { registerGoals } from './register-goals.js';
import type { RegisteredGoal } from './register-goals.js';
import { duration, isCount, toolSpec } from './tool-spec.js';
import type { Note } from './tool-spec.js';

export interface RegisteredTool {
  tool: Tool;
  spec: ToolSpec;
}

export interface RegisteredAgent {
  options: AgentOptions;
  policy: Policy;
  await_expires_ms: number | undefined;
  profile: string;
  limits: RunLimits;
  tools: ToolSpec[];
  toolsets: Toolset[];
}

export interface Registry {
  agents: ReadonlyMap<string, RegisteredAgent>;
  tools: ReadonlyMap<string, RegisteredTool>;
  toolsets: ReadonlyMap<string, Toolset>;
  models: ReadonlyMap<string, ModelProfile>;
  runtime: RuntimeSpec;
  context_cache_runs: number;
  /** Undefined: as many as the worker's memory has room for. */
  cached_workflows: number | undefined;
  redis_url: string | undefined;
  encryption_keys: KeySource | undefined;
  goals: ReadonlyMap<string, RegisteredGoal>;
  /** Undefined: a thread's title is its first message. */
  thread_title_profile: string | undefined;
  /** Undefined: as much as a thread may hold at all. */
  thread_max_bytes: number | undefined;
  /** Messages that may wait in a thread. */
  queued_messages: number | undefined;
  /** Stream profiles of the application's own. */
  profiles: OwnProfiles;
}

/** Of ids that a worker or a caller gives out by itself. */
const RESERVED_SERVICE = /^(?:runtime|client)\./;

const DEFAULT_LIMITS = { max_steps: 50, max_consecutive_failed_tool_calls: 5 };

/** `file` is only for the messages. Throws `invalid_config` with every mistake that there is. */
export function createRegistry(config: Config, file = 'the configuration'): Registry {
  const { options } = config;
  const problems: string[] = [];
  const note = (field: string, problem: string): void => void problems.push(`${file}: ${field} ${problem}`);

  const models = new Map(Object.entries(options.models ?? {}));
  if (models.size === 0) note('models', 'is empty: give at least one model profile');
  const defaults = [...models].filter(([, profile]) => profile.default === true).map(([name]) => name);
  if (defaults.length > 1) note('models', `has more than one default: ${defaults.join(', ')}`);
  for (const [name, profile] of models) {
    if (typeof profile.provider?.stream !== 'function') note(`models.${name}.provider`, 'is no model provider');
    if (!profile.model) note(`models.${name}.model`, 'is missing');
    const { context_tokens, max_output_tokens = DEFAULT_MAX_OUTPUT_TOKENS } = profile;
    if (context_tokens !== undefined && !(isCount(context_tokens) && context_tokens > max_output_tokens))
      note(
        `models.${name}.context_tokens`,
        `${context_tokens} leaves no room beside an answer of ${max_output_tokens}`,
      );
  }
  checkFallbacks(models, note);
  const defaultProfile = defaults[0] ?? [...models.keys()][0] ?? '';

  const tools = new Map<string, RegisteredTool>();
  const toolsets = new Map<string, Toolset>();
  const agents = new Map<string, RegisteredAgent>();
  for (const { agent, field } of allAgents(options.agents ?? [])) {
    if (agent?.kind !== 'agent') {
      note(field, 'is no agent: make it with defineAgent()');
      continue;
    }
    const { agent_id, instructions, model } = agent.options;
    if (!AGENT_ID_PATTERN.test(agent_id))
      note(`${field}.agent_id`, `"${agent_id}" is not canonical: write service.agent in [a-z0-9_]`);
    if (agents.has(agent_id)) note(`${field}.agent_id`, `"${agent_id}" is there twice`);
    if (!instructions?.trim()) note(`${field}.instructions`, `of ${agent_id} are empty`);
    const profile = model ?? defaultProfile;
    if (models.size > 0 && !models.has(profile)) {
      note(`${field}.model`, `"${profile}" is no model profile; there are: ${[...models.keys()].join(', ')}`);
    }
    const limits = RunLimits.safeParse(agent.options.limits ?? {});
    for (const issue of limits.error?.issues ?? []) note([`${field}.limits`, ...issue.path].join('.'), issue.message);
    const policy = PolicySpec.safeParse(agent.options.policy ?? {});
    for (const issue of policy.error?.issues ?? []) note([`${field}.policy`, ...issue.path].join('.'), issue.message);
    const { await_expires_in, tool_choice } = agent.options;
    if (tool_choice !== undefined && !isChoice(agent.options, tool_choice))
      note(`${field}.tool_choice`, `"${tool_choice}" is not auto, required, none or the id of one of its tools`);
    const specs: ToolSpec[] = [];
    const found: Toolset[] = [];
    agents.set(agent_id, {
      options: agent.options,
      policy: policy.data ?? { allow: [], deny: ['*'], approve: [] },
      await_expires_ms:
        await_expires_in === undefined ? undefined : duration(await_expires_in, 1, `${field}.await_expires_in`, note),
      profile,
      limits: { ...limits.data, run: { ...DEFAULT_LIMITS, ...limits.data?.run } },
      tools: specs,
      toolsets: found,
    });
    (agent.options.tools ?? []).forEach((tool, t) => {
      if (tool?.kind === 'toolset') {
        registerToolset(toolsets, tool, `${field}.tools[${t}]`, note);
        if (found.includes(tool)) note(`${field}.tools[${t}]`, `is there twice in ${agent_id}`);
        return void found.push(tool);
      }
      if (tool?.kind !== 'tool') return note(`${field}.tools[${t}]`, 'is no tool: make it with defineTool()');
      const known = registerTool(tools, tool, `${field}.tools[${t}]`, note);
      if (specs.some((spec) => spec.tool_id === known.spec.tool_id)) {
        note(`${field}.tools[${t}].tool_id`, `"${known.spec.tool_id}" is there twice in ${agent_id}`);
      }
      specs.push(known.spec);
    });
  }
  for (const tool_id of tools.keys()) {
    if (toolsets.has(toolsetIdOf(tool_id ?? '')))
      note(`tool "${tool_id}"`, 'has an id of a toolset: choose another one');
  }
  if (!options.agents?.length) note('agents', 'is empty: define at least one with defineAgent()');

  const { title = 'first_message', max_bytes: thread_max_bytes, queued_messages } = options.threads ?? {};
  if (thread_max_bytes !== undefined && !(isCount(thread_max_bytes) && thread_max_bytes <= THREAD_BYTES))
    note('threads.max_bytes', `${thread_max_bytes} is no number of bytes up to ${THREAD_BYTES}`);
  if (queued_messages !== undefined && !isCount(queued_messages))
    note('threads.queued_messages', `${queued_messages} is no number of messages`);
  const thread_title_profile = title === 'first_message' ? undefined : title.profile;
  if (thread_title_profile !== undefined && !models.has(thread_title_profile))
    note(
      'threads.title.profile',
      `"${thread_title_profile}" is no model profile; there are: ${[...models.keys()].join(', ')}`,
    );
  const goals = registerGoals(options.goals ?? {}, note);
  const profiles = checkProfiles(options.profiles ?? {}, note);
  const runtime = runtimeSpec(options.runtime ?? {}, note);
  const context_cache_runs = options.runtime?.context_cache_runs ?? 200;
  if (!isCount(context_cache_runs, 0)) note('runtime.context_cache_runs', `${context_cache_runs} is no number of runs`);
  const cached_workflows = options.runtime?.cached_workflows;
  if (cached_workflows !== undefined && !isCount(cached_workflows, 2))
    note('runtime.cached_workflows', `${cached_workflows} is no number of workflows from 2 on`);
  const encryption_keys = options.encryption?.keys;
  if (options.encryption !== undefined && typeof encryption_keys !== 'function' && !Array.isArray(encryption_keys))
    note('encryption.keys', 'is no list of keys, and no function that gives one');
  if (problems.length > 0) {
    throw new PerdureError(
      'invalid_config',
      `${problems.length} mistake(s) in the configuration:\n  ${problems.join('\n  ')}\n`,
    );
  }
  const { redis_url } = options.runtime ?? {};
  return {
    agents,
    tools,
    toolsets,
    models,
    runtime,
    context_cache_runs,
    cached_workflows,
    redis_url,
    encryption_keys,
    goals,
    thread_title_profile,
    thread_max_bytes,
    queued_messages,
    profiles,
  };
}

/** Those that are listed, and those that they use as tools: these need no entry of their own. */
function allAgents(listed: readonly Agent[]): { agent: Agent; field: string }[] {
  const found = listed.map((agent, a) => ({ agent, field: `agents[${a}]` }));
  // The list grows while it is read.
  for (const { agent, field } of found) {
    (agent?.options?.tools ?? []).forEach((tool, t) => {
      const used = tool?.kind === 'tool' ? tool.child?.agent : undefined;
      if (used !== undefined && !found.some((other) => other.agent === used)) {
        found.push({ agent: used, field: `${field}.tools[${t}].agent` });
      }
    });
  }
  return found;
}

/** Tools of toolsets and of callers are not known yet: their ids are taken by how they begin. */
function isChoice({ tools = [], clarifications }: AgentOptions, choice: string): boolean {
  if (choice === 'auto' || choice === 'required' || choice === 'none' || isClientToolId(choice)) return true;
  if (choice === ASK_CLARIFICATION_TOOL) return clarifications === true;
  return tools.some((tool) =>
    tool?.kind === 'toolset' ? tool.options.toolset_id === toolsetIdOf(choice) : tool?.options.tool_id === choice,
  );
}

function registerTool(tools: Map<string, RegisteredTool>, tool: Tool, field: string, note: Note): RegisteredTool {
  const { options } = tool;
  const { tool_id } = options;
  const known = tools.get(tool_id);
  if (known?.tool === tool) return known;
  if (known !== undefined) note(`${field}.tool_id`, `"${tool_id}" is there twice, with different tools`);
  if (!TOOL_ID_PATTERN.test(tool_id)) {
    note(`${field}.tool_id`, `"${tool_id}" is not canonical: write service.toolset.tool in [a-z0-9_]`);
  }
  const [reserved] = RESERVED_SERVICE.exec(tool_id ?? '') ?? [];
  if (reserved !== undefined)
    note(`${field}.tool_id`, `"${tool_id}": the service "${reserved.slice(0, -1)}" is Perdure's own`);
  else if (hasClientName(tool_id ?? ''))
    note(`${field}.tool_id`, `"${tool_id}": names that begin with client_ are those of tools that callers run`);
  if (!options.description?.trim()) note(`${field}.description`, `of ${tool_id} is missing: the model chooses by it`);
  const registered = { tool, spec: toolSpec(tool, field, note) };
  tools.set(tool_id, registered);
  return registered;
}

function registerToolset(toolsets: Map<string, Toolset>, toolset: Toolset, field: string, note: Note): void {
  const { toolset_id } = toolset.options;
  const known = toolsets.get(toolset_id);
  if (known === toolset) return;
  if (known !== undefined) note(`${field}.toolset_id`, `"${toolset_id}" is there twice, with different toolsets`);
  if (!TOOLSET_ID_PATTERN.test(toolset_id)) {
    note(`${field}.toolset_id`, `"${toolset_id}" is not canonical: write service.toolset in [a-z0-9_]`);
  }
  if (RESERVED_SERVICE.test(toolset_id)) note(`${field}.toolset_id`, `"${toolset_id}": its service is Perdure's own`);
  toolsets.set(toolset_id, toolset);
}

function runtimeSpec(options: RuntimeOptions, note: Note): RuntimeSpec {
  const { model_max_attempts = 4, model_retry_for, continue_as_new_after_events, goal_reprompts } = options;
  if (goal_reprompts !== undefined && !isCount(goal_reprompts, 0)) {
    note('runtime.goal_reprompts', `${goal_reprompts} is no number of times`);
  }
  if (!isCount(model_max_attempts))
    note('runtime.model_max_attempts', `${model_max_attempts} is no number of attempts`);
  if (continue_as_new_after_events !== undefined && !isCount(continue_as_new_after_events)) {
    note('runtime.continue_as_new_after_events', `${continue_as_new_after_events} is no number of events`);
  }
  if ((parseDuration(options.heartbeat_timeout ?? 10_000) ?? 1_000) < 1_000) {
    note('runtime.heartbeat_timeout', 'is under a second: workers that live would be taken for dead');
  }
  return {
    model_timeout_ms: duration(options.model_timeout, 600_000, 'runtime.model_timeout', note),
    model_max_attempts,
    ...(model_retry_for === undefined
      ? {}
      : { model_retry_ms: model_retry_for === 0 ? 0 : duration(model_retry_for, 1, 'runtime.model_retry_for', note) }),
    heartbeat_timeout_ms: duration(options.heartbeat_timeout, 10_000, 'runtime.heartbeat_timeout', note),
    cancel_grace_ms: duration(options.cancel_grace, 5_000, 'runtime.cancel_grace', note),
    ...(continue_as_new_after_events === undefined ? {} : { continue_as_new_after_events }),
    ...(options.long_pause === undefined
      ? {}
      : { long_pause_ms: duration(options.long_pause, 1, 'runtime.long_pause', note) }),
    ...(goal_reprompts === undefined ? {} : { goal_reprompts }),
    signal_live: options.live === 'temporal',
  };
}
