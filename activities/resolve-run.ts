/** Where a run's request enters: it is validated here, and the agent is pinned as it is now, with what its toolsets have. */
import type { Context } from '@temporalio/activity';
import type { ResolvedRun, ResolveRunInput } from '../contract/activities.js';
import { AGENT_SPEC_VERSION } from '../contract/agent-spec.js';
import type { AgentSpec, PinnedModel } from '../contract/agent-spec.js';
import { PerdureError } from '../contract/errors.js';
import { withClientContext } from '../contract/client-context.js';
import type { Limits, RunLimits } from '../contract/limits.js';
import { READ_OUTPUT_TOOL } from '../contract/names.js';
import type { SearchAttributeName } from '../contract/names.js';
import { checkRequest } from '../contract/check-request.js';
import type { RunRequest } from '../contract/run.js';
import type { ModelProfile } from '../kit/define-config.js';
import type { RunContext } from '../kit/define-tool.js';
import { fallbackChain } from '../kit/model-fallback.js';
import type { Registry, RegisteredAgent } from '../kit/registry.js';
import type { CallBoard } from '../live/call-board.js';
import { clientToolId } from '../contract/ids.js';
import { callerOf } from '../contract/principal.js';
import { decide } from '../contract/policy.js';
import type { ToolSpec } from '../contract/tools.js';
import { askClarificationSpec } from './ask-clarification.js';
import { startHeartbeat } from './heartbeat.js';
import { pinGoals } from './pin-goals.js';
import { readOutputSpec } from './read-output.js';
import type { Discovery, Toolsets } from './toolsets.js';

export interface ResolveDependencies {
  registry: Registry;
  calls: CallBoard;
  searchAttributes: readonly SearchAttributeName[];
}

export async function resolveRun(
  { registry, calls, searchAttributes, toolsets }: ResolveDependencies & { toolsets: Toolsets },
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
  const run = {
    run_id: input.run_id,
    agent_id: request.agent_id,
    root_run_id: request.parent?.root_run_id ?? input.run_id,
  };
  const discovery = await discover(toolsets, agent, { run, ...callerOf(request) }, context, calls);
  const spec = pinAgent(registry, agent, request, searchAttributes, discovery);
  return { request, spec, ...(input.revision === undefined ? {} : { revision: input.revision }) };
}

async function discover(
  toolsets: Toolsets,
  agent: RegisteredAgent,
  of: RunContext,
  context: Context,
  calls: CallBoard,
): Promise<Discovery> {
  if (agent.toolsets.length === 0) return { tools: [], missing: [] };
  const heartbeat = startHeartbeat(context, calls);
  try {
    return await toolsets.discover(agent.toolsets, heartbeat.signal, of);
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
  const mayCall = tools.filter((tool) => !isDenied(tool));
  const offered = [...(hasOutputs(mayCall, request) ? mayCall : []), ...goals.tools];
  return {
    version: AGENT_SPEC_VERSION,
    agent_id: options.agent_id,
    description: options.description ?? '',
    instructions: withClientContext(options.instructions, request.thread),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.tool_choice === undefined ? {} : { tool_choice: options.tool_choice }),
    model: {
      ...pinModel(profileName, profile),
      ...(spares.length === 0 ? {} : { fallback: spares.map((name) => pinModel(name, findProfile(registry, name))) }),
    },
    // What the model is shown is what is enforced.
    tools: offered,
    denied_tools: tools.filter(isDenied).map((tool) => tool.tool_id),
    policies: policies.map(({ allow, deny, approve, answers, approvals }) => ({
      allow: allow === 'all' ? allow : [...allow],
      deny: [...deny],
      approve: [...approve],
      ...(answers === undefined ? {} : { answers: [...answers] }),
      ...(approvals === undefined ? {} : { approvals: [...approvals] }),
    })),
    ...(agent.await_expires_ms === undefined ? {} : { await_expires_ms: agent.await_expires_ms }),
    ...(options.planner === undefined ? {} : { planner: true }),
    depth: request.parent?.depth ?? 0,
    ...(goals.goals.length === 0 ? {} : { goals: goals.goals }),
    ...(discovery.missing.length === 0 ? {} : { missing_toolsets: discovery.missing }),
    limits: narrowAll(agent.limits, request.limits),
    synthesis: options.synthesis ?? false,
    ...(options.on_cut_answer === undefined ? {} : { on_cut_answer: options.on_cut_answer }),
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
  return [...running, ...client, ...(asks ? [askClarificationSpec] : []), readOutputSpec];
}

/** Whoever can call nothing else has nothing to read on in, unless it is in the conversation before. */
function hasOutputs(tools: readonly ToolSpec[], { thread }: RunRequest): boolean {
  return (thread?.length ?? 0) > 0 || tools.some(({ tool_id }) => tool_id !== READ_OUTPUT_TOOL);
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
