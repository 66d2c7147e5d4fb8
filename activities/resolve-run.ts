/** Where a run's request enters: it is validated here, and the agent is pinned as it is now, with what its toolsets have. */
import type { Context } from '@temporalio/activity';
import type { ResolvedRun, ResolveRunInput } from '../contract/activities.js';
import { AGENT_SPEC_VERSION } from '../contract/agent-spec.js';
import type { AgentSpec, PinnedModel } from '../contract/agent-spec.js';
import { PerdureError } from '../contract/errors.js';
import { withClientContext } from '../contract/client-context.js';
import type { Limits, RunLimits } from '../contract/limits.js';
import type { SearchAttributeName } from '../contract/names.js';
import { checkRequest } from '../contract/check-request.js';
import type { RunRequest } from '../contract/run.js';
import type { ModelProfile } from '../kit/define-config.js';
import { fallbackChain } from '../kit/model-fallback.js';
import type { Registry, RegisteredAgent } from '../kit/registry.js';
import { clientToolId } from '../contract/ids.js';
import { decide } from '../contract/policy.js';
import type { ToolSpec } from '../contract/tools.js';
import { askClarificationSpec } from './ask-clarification.js';
import { startHeartbeat } from './heartbeat.js';
import { pinGoals } from './pin-goals.js';
import { readOutputSpec } from './read-output.js';
import type { Discovery, Toolsets } from './toolsets.js';

export interface ResolveDependencies {
  registry: Registry;
  searchAttributes: readonly SearchAttributeName[];
}

export async function resolveRun(
  { registry, searchAttributes, toolsets }: ResolveDependencies & { toolsets: Toolsets },
  input: ResolveRunInput,
  context: Context,
): Promise<ResolvedRun> {
  const request = checkRequest(input.request);
  if (request.parent !== undefined && input.is_child !== true) {
    throw new PerdureError(
      'invalid_request',
      'parent: is set by the runtime when an agent is used as a tool; a root run has none',
    );
  }
  if (request.thread !== undefined && (input.is_child !== true || request.thread_id === undefined)) {
    throw new PerdureError(
      'invalid_request',
      'thread: is set by the thread whose turn a run is; send the thread a message',
    );
  }
  if (request.tool_state !== undefined && input.is_child !== true) {
    throw new PerdureError('invalid_request', 'tool_state: is set by the runtime; a root run begins without any');
  }
  const agent = findAgent(registry, request.agent_id);
  // Before anything is asked of others: a profile that is not there is news at once.
  findProfile(registry, request.model_profile ?? agent.profile);
  const discovery = await discover(toolsets, agent, context);
  return { request, spec: pinAgent(registry, agent, request, searchAttributes, discovery) };
}

async function discover(toolsets: Toolsets, agent: RegisteredAgent, context: Context): Promise<Discovery> {
  if (agent.toolsets.length === 0) return { tools: [], missing: [] };
  const heartbeat = startHeartbeat(context);
  try {
    return await toolsets.discover(agent.toolsets, context.cancellationSignal);
  } finally {
    heartbeat.stop();
  }
}

export function findAgent(registry: Registry, agentId: string): RegisteredAgent {
  const agent = registry.agents.get(agentId);
  if (agent !== undefined) return agent;
  const known = [...registry.agents.keys()].join(', ');
  throw new PerdureError('unknown_agent', `there is no agent "${agentId}"; there are: ${known}`);
}

export function findProfile(registry: Registry, name: string): ModelProfile {
  const profile = registry.models.get(name);
  if (profile !== undefined) return profile;
  const known = [...registry.models.keys()].join(', ');
  throw new PerdureError('unknown_profile', `model profile "${name}" is not configured; there are: ${known}`);
}

function pinAgent(
  registry: Registry,
  agent: RegisteredAgent,
  request: RunRequest,
  searchAttributes: readonly SearchAttributeName[],
  discovery: Discovery,
): AgentSpec {
  const { options } = agent;
  const profileName = request.model_profile ?? agent.profile;
  const profile = findProfile(registry, profileName);
  const spares = fallbackChain(registry.models, profileName);
  const policies = [
    ...(request.parent?.policies ?? []),
    agent.policy,
    ...(request.policy === undefined ? [] : [request.policy]),
  ];
  const tools = catalogue(agent, request, discovery.tools);
  const goals = pinGoals(registry, request.goals ?? []);
  const isDenied = (tool: ToolSpec) => decide(policies, tool.tool_id).decision === 'deny';
  return {
    version: AGENT_SPEC_VERSION,
    agent_id: options.agent_id,
    description: options.description ?? '',
    instructions: withClientContext(options.instructions, request.thread),
    model: {
      ...pinModel(profileName, profile),
      ...(spares.length === 0 ? {} : { fallback: spares.map((name) => pinModel(name, findProfile(registry, name))) }),
    },
    // What the model is shown is what is enforced.
    tools: [...tools.filter((tool) => !isDenied(tool)), ...goals.tools],
    denied_tools: tools.filter(isDenied).map((tool) => tool.tool_id),
    policies: policies.map(({ allow, deny, approve }) => ({
      allow: allow === 'all' ? allow : [...allow],
      deny: [...deny],
      approve: [...approve],
    })),
    ...(agent.await_expires_ms === undefined ? {} : { await_expires_ms: agent.await_expires_ms }),
    ...(options.planner === undefined ? {} : { planner: true }),
    depth: request.parent?.depth ?? 0,
    ...(goals.goals.length === 0 ? {} : { goals: goals.goals }),
    ...(discovery.missing.length === 0 ? {} : { missing_toolsets: discovery.missing }),
    limits: narrowAll(agent.limits, request.limits),
    synthesis: options.synthesis ?? false,
    runtime: { ...registry.runtime, signal_live: registry.runtime.signal_live || request.signal_live === true },
    search_attributes: [...searchAttributes],
  };
}

function pinModel(name: string, profile: ModelProfile): PinnedModel {
  return {
    profile: name,
    provider: profile.provider.name,
    model: profile.model,
    parameters: profile.parameters ?? {},
    ...(profile.price === undefined ? {} : { price: profile.price }),
    ...(profile.max_output_tokens === undefined ? {} : { max_output_tokens: profile.max_output_tokens }),
    ...(profile.context_tokens === undefined ? {} : { context_tokens: profile.context_tokens }),
  };
}

/** The agent's tools, the caller's, and the runtime's own: whoever can get a trimmed output must be able to read on. */
function catalogue(agent: RegisteredAgent, request: RunRequest, found: readonly ToolSpec[]): ToolSpec[] {
  const names = (request.client_tools ?? []).map((declared) => declared.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new PerdureError('invalid_request', `client_tools: "${twice}" is declared twice`);
  const client = (request.client_tools ?? []).map((declared): ToolSpec => ({
    tool_id: clientToolId(declared.name),
    description: declared.description,
    parameters: declared.input_schema,
    strict: false,
    timeout_ms: 60_000,
    idempotent: false,
    max_attempts: 1,
    kind: 'client',
  }));
  // A planner can decide to ask.
  const asks = agent.options.clarifications === true || agent.options.planner !== undefined;
  const running = [...agent.tools, ...found];
  const own = [...running, ...client, ...(asks ? [askClarificationSpec] : [])];
  return running.length === 0 ? own : [...own, readOutputSpec];
}

function narrowAll(own: RunLimits, asked: RunLimits | undefined): RunLimits {
  return {
    ...(own.run || asked?.run ? { run: narrow(own.run, asked?.run) } : {}),
    ...(own.tree || asked?.tree ? { tree: narrow(own.tree, asked?.tree) } : {}),
  };
}

/** A caller can only take away. */
function narrow(own: Limits = {}, asked: Limits = {}): Limits {
  const narrowed: Limits = { ...own };
  for (const [name, value] of Object.entries(asked) as [keyof Limits, number | undefined][]) {
    if (value !== undefined) narrowed[name] = Math.min(value, own[name] ?? value);
  }
  return narrowed;
}
