/** What can be run, and with what. */
import { z } from 'zod';
import { defineRoute } from '../route.js';
import { AgentSummary, ModelProfileResponse } from '../shapes/catalog.js';

export const listAgents = defineRoute({
  operation: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'The agents that can be run.',
  access: 'agents:read',
  replies: { 200: { description: 'The agents.', schema: z.strictObject({ agents: z.array(AgentSummary) }) } },
  handle: ({ tools }) => Response.json({ agents: tools.catalog.agents }),
});

export const listModelProfiles = defineRoute({
  operation: 'listModelProfiles',
  method: 'GET',
  path: '/v1/model-profiles',
  summary: 'The model profiles that a run can ask for.',
  access: 'agents:read',
  replies: {
    200: {
      description: 'The profiles.',
      schema: z.strictObject({ model_profiles: z.array(ModelProfileResponse) }),
    },
  },
  handle: ({ tools }) => Response.json({ model_profiles: tools.catalog.model_profiles }),
});
