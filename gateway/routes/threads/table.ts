/** The routes of threads, each also under the path of the API's older releases. */
import { dataPage, dataPageOf } from '../../envelope.js';
import { defineRoute } from '../../route.js';
import type { Route } from '../../route.js';
import { ModelProfileResponse } from '../../shapes/catalog.js';
import {
  cancelTurn,
  decideThreadApproval,
  deleteThread,
  forkThread,
  pinThread,
  renameThread,
  sendMessage,
  setVisibility,
  submitToolUseResults,
} from './command-thread.js';
import { giveFeedback } from './give-feedback.js';
import { listThreads, readThread, readThreadDelta, searchThreads } from './read-thread.js';
import { startThread } from './start-thread.js';

const listThreadModelProfiles = defineRoute({
  operation: 'listThreadModelProfiles',
  method: 'GET',
  path: '/v1/ai/model-profiles',
  summary: 'The model profiles that a thread can ask for.',
  access: 'threads:read',
  replies: { 200: { description: 'The profiles.', schema: dataPageOf(ModelProfileResponse) } },
  handle: ({ tools }) => dataPage(tools.catalog.model_profiles, null),
});

const NEWER: readonly Route[] = [
  startThread,
  listThreads,
  searchThreads,
  readThread,
  renameThread,
  deleteThread,
  readThreadDelta,
  sendMessage,
  submitToolUseResults,
  decideThreadApproval,
  cancelTurn,
  forkThread,
  setVisibility,
  pinThread,
  giveFeedback,
];

export function withOlderPath(route: Route): Route[] {
  const path = route.path.replace(/^\/v1\/ai\/threads/, '/v1/ai/chats');
  return path === route.path
    ? [route]
    : [route, { ...route, path, operation: `${route.operation}AsChat`, deprecated: true }];
}

export const THREAD_ROUTES: readonly Route[] = [...NEWER.flatMap(withOlderPath), listThreadModelProfiles];
