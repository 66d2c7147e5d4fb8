/** What the workflow bundle holds: the names of these exports are the workflow types. */
export { agentRun } from './agent-run.js';
export { agentThread } from './thread/agent-thread.js';
export { archiveSweep } from './archive-sweep.js';
