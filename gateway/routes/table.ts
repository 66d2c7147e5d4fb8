/** All routes. */
import type { Route } from '../route.js';
import { STORED_AGENT_ROUTES } from './agents/table.js';
import { listAgents, listModelProfiles } from './catalog.js';
import { answerClarification, cancelRun, decideApproval, submitToolResults } from './command-run.js';
import { decodePayloads, encodePayloads } from './codec.js';
import { listRuns } from './list-runs.js';
import { listThreadSummaries, readThreadSummary } from './look-at-threads.js';
import { health, metrics, openapi, ready } from './probes.js';
import { openFile } from './open-file.js';
import { readArtefact } from './read-artefact.js';
import { readRun, readSteps, readTranscript, readTree } from './read-run.js';
import { startRun } from './start-run.js';
import { streamEvents } from './stream-events.js';
import { streamThreadEvents } from './stream-thread-events.js';
import { THREAD_ROUTES } from './threads/table.js';

export const ROUTES: readonly Route[] = [
  startRun,
  listRuns,
  readRun,
  readTree,
  readTranscript,
  readSteps,
  readArtefact,
  openFile,
  streamEvents,
  listThreadSummaries,
  readThreadSummary,
  streamThreadEvents,
  cancelRun,
  answerClarification,
  submitToolResults,
  decideApproval,
  decodePayloads,
  encodePayloads,
  ...THREAD_ROUTES,
  ...STORED_AGENT_ROUTES,
  listAgents,
  listModelProfiles,
  health,
  ready,
  metrics,
  openapi,
];
