/** Where a run's request enters: it is validated here, and the agent is pinned as it is now. */
import type { ResolvedRun, ResolveRunInput } from '../contract/activities.js';
import { AGENT_SPEC_VERSION } from '../contract/agent-spec.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { PerdureError } from '../contract/errors.js';
import type { Limits, RunLimits } from '../contract/limits.js';
import type { SearchAttributeName } from '../contract/names.js';
import { checkRequest } from '../contract/check-request.js';
import type { RunRequest } from '../contract/run.js';
import type { Registry, RegisteredAgent } from '../kit/registry.js';
import { readOutputSpec } from './read-output.js';

export interface ResolveDependencies {
  registry: Registry;
  searchAttributes: readonly SearchAttributeName[];
}

export function resolveRun({ registry, searchAttributes }: ResolveDependencies, input: ResolveRunInput): ResolvedRun {
  const request = checkRequest(input.request);
  const agent = registry.agents.get(request.agent_id);
  if (agent === undefined) {
    const known = [...registry.agents.keys()].join(', ');
    throw new PerdureError('unknown_agent', `there is no agent "${request.agent_id}"; there are: ${known}`);
  }
  return { request, spec: pinAgent(registry, agent, request, searchAttributes) };
}

function pinAgent(
  registry: Registry,
  agent: RegisteredAgent,
  request: RunRequest,
  searchAttributes: readonly SearchAttributeName[],
): AgentSpec {
  const { options } = agent;
  const profileName = request.model_profile ?? agent.profile;
  const profile = registry.models.get(profileName);
  if (profile === undefined) {
    const known = [...registry.models.keys()].join(', ');
    throw new PerdureError('unknown_profile', `model profile "${profileName}" is not configured; there are: ${known}`);
  }
  return {
    version: AGENT_SPEC_VERSION,
    agent_id: options.agent_id,
    description: options.description ?? '',
    instructions: options.instructions,
    model: {
      profile: profileName,
      provider: profile.provider.name,
      model: profile.model,
      parameters: profile.parameters ?? {},
    },
    // Whoever has tools can get an output that was trimmed, and must be able to read on.
    tools: agent.tools.length === 0 ? [] : [...agent.tools, readOutputSpec],
    limits: narrowAll(agent.limits, request.limits),
    synthesis: options.synthesis ?? false,
    runtime: { ...registry.runtime, signal_live: registry.runtime.signal_live || request.signal_live === true },
    search_attributes: [...searchAttributes],
  };
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
