/** What can be asked for: agents and model profiles, without what is only the worker's to know. */
import { z } from 'zod';
import type { Policy } from '../../contract/policy.js';
import type { OwnProfiles } from '../../contract/profiles.js';

export const AgentSummary = z.strictObject({
  agent_id: z.string(),
  description: z.string().exactOptional(),
  model_profile: z.string(),
  tools: z.array(z.strictObject({ tool_id: z.string(), description: z.string() })),
});

/** `seeds/thread-records.md` */
export const ModelProfileResponse = z.strictObject({
  id: z.string(),
  label: z.string(),
  description: z.string(),
  is_default: z.boolean(),
});

export interface Catalog {
  agents: readonly z.infer<typeof AgentSummary>[];
  model_profiles: readonly z.infer<typeof ModelProfileResponse>[];
  /** By agent: who may answer its runs. Not shown. */
  policies: ReadonlyMap<string, Policy>;
  /** Stream profiles of the application's own. */
  profiles?: OwnProfiles;
}
