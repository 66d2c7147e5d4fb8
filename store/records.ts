/** All that Perdure keeps beside Temporal, in one database: what is not a run, and runs that are over. */
import { createApiKeys } from './api-keys.js';
import type { ApiKeys } from './api-keys.js';
import { createArchive } from './archive/archive.js';
import type { Archive } from './archive/archive.js';
import { openDatabase } from './database/open-database.js';
import type { DatabaseOptions } from './database/open-database.js';
import { createFeedbackStore } from './feedback.js';
import type { FeedbackStore } from './feedback.js';
import { createSecrets } from './secrets.js';
import type { Secrets } from './secrets.js';
import { createStoredAgents } from './stored-agents.js';
import type { StoredAgents } from './stored-agents.js';
import { takeOver } from './take-over.js';
import type { TakeOverOptions } from './take-over.js';

export interface Records {
  /** The database, for messages. */
  place: string;
  keys: ApiKeys;
  agents: StoredAgents;
  feedback: FeedbackStore;
  archive: Archive;
  secrets: Secrets;
  close(): Promise<void>;
}

export async function openRecords(options: DatabaseOptions & TakeOverOptions): Promise<Records> {
  const database = await openDatabase(options);
  try {
    await takeOver(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    place: database.place,
    keys: createApiKeys(database),
    agents: createStoredAgents(database),
    feedback: createFeedbackStore(database),
    archive: createArchive(database),
    secrets: createSecrets(database),
    close: () => database.close(),
  };
}
