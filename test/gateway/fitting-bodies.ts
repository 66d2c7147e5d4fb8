/** A body for each route that takes one: it fits, so that a request gets as far as what the route itself looks at. */
import { randomUUID } from 'node:crypto';
import { script } from '../support/test-agents.js';
import { said, startBody } from './threads/thread-gateway.js';

const BODIES: Record<string, () => unknown> = {
  startRun: () => ({ agent_id: 'test.bare', input: script([{ text: 'Done.' }]) }),
  cancelRun: () => ({}),
  answerClarification: () => ({ await_id: 'none', answer: 'x' }),
  submitToolResults: () => ({ results: [{ tool_call_id: 'call_9_9', status: 'declined' }] }),
  decideApproval: () => ({ await_id: 'none', digest: 'd', decision: 'deny' }),
  createStoredAgent: () => ({
    name: `greeter-${randomUUID()}`,
    request_template: { agent_id: 'test.bare', messages: [said(script([{ text: 'Hello.' }]))] },
  }),
  updateStoredAgent: () => ({ description: 'Greets.' }),
  launchStoredAgent: () => ({ values: {} }),
  startThread: () => startBody([{ text: 'Hello.' }], { agent_id: 'test.bare', title: randomUUID() }),
  searchThreads: () => ({ title: 'x' }),
  giveFeedback: () => ({ sentiment: 'positive', categories: ['helpful'] }),
  pinThread: () => ({ pinned: true }),
  forkThread: () => ({ message_sequence_num: 0 }),
  sendMessage: () => ({ message: 'Hello.', on_busy: 'enqueue' }),
  submitToolUseResults: () => ({ tool_results: [{ tool_use_id: 'none', status: 'declined' }] }),
  decideThreadApproval: () => ({ tool_use_id: 'none', digest: 'd', decision: 'deny' }),
  setVisibility: () => ({ visibility: 'org' }),
  renameThread: () => ({ title: 'New' }),
  decodePayloads: () => ({ payloads: [] }),
  encodePayloads: () => ({ payloads: [] }),
};

/** Undefined where the route takes none. */
export function fittingBody(operation: string): unknown {
  return BODIES[operation.replace(/AsChat$/, '')]?.();
}
