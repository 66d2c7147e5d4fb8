/** What the gateway shows of a configuration. */
import type { Catalog } from '../gateway/shapes/catalog.js';
import type { Registry } from '../kit/registry.js';

export function catalogOf({ agents, models, profiles }: Registry): Catalog {
  // A start that names no agent is of the first one.
  const [first] = agents.values();
  return {
    agents: [...agents].map(([agent_id, { options, profile, tools }]) => ({
      agent_id,
      ...(options.description === undefined ? {} : { description: options.description }),
      model_profile: profile,
      tools: tools.map(({ tool_id, description }) => ({ tool_id, description })),
    })),
    policies: new Map([...agents].map(([agent_id, { policy }]) => [agent_id, policy])),
    profiles,
    model_profiles: [...models].map(([id, { label = id, description = '' }]) => ({
      id,
      label,
      description,
      is_default: id === first?.profile,
    })),
  };
}
