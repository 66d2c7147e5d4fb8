/** The small records that a gateway keeps, in folders of the data folder. */
import { join } from 'node:path';
import { createFeedbackStore } from './feedback.js';
import type { FeedbackStore } from './feedback.js';
import { createStoredAgents } from './stored-agents.js';
import type { StoredAgents } from './stored-agents.js';

export interface GatewayRecords {
  agents: StoredAgents;
  feedback: FeedbackStore;
}

export function openGatewayRecords(dataDir: string): GatewayRecords {
  return {
    agents: createStoredAgents(join(dataDir, 'stored-agents')),
    feedback: createFeedbackStore(join(dataDir, 'feedback')),
  };
}
