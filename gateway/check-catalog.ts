/** An agent or a profile that is not configured is refused before anything is started. */
import { PerdureError } from '../contract/errors.js';
import type { Catalog } from './shapes/catalog.js';

export function checkCatalog(
  catalog: Catalog,
  { agent_id, model_profile }: { agent_id: string; model_profile?: string | null | undefined },
): void {
  if (!catalog.agents.some((agent) => agent.agent_id === agent_id)) {
    const names = catalog.agents.map((agent) => agent.agent_id).join(', ');
    throw new PerdureError('unknown_agent', `there is no agent "${agent_id}", only ${names}`);
  }
  if (model_profile != null && !catalog.model_profiles.some(({ id }) => id === model_profile)) {
    const names = catalog.model_profiles.map(({ id }) => id).join(', ');
    throw new PerdureError('unknown_profile', `there is no model profile "${model_profile}", only ${names}`);
  }
}
