/**
 * Who may call what: the expected answers, written down once. `rights.test.ts` makes a cell of each row, each set of
 * scopes and each person, and asks a gateway.
 *
 * A row is a route, or a route with a query that takes more. A credential without the first of its scopes gets 403
 * `forbidden`, whoever has it and whatever it asks for; the others are asked for once it is clear whose the thing is.
 * With the scopes, the columns say what becomes of a request about what Ann of acme has made:
 *
 *   ann   made it                     bob   is a member of the same org
 *   ada   is an admin of it           gus   is an admin of another org
 *   adi   has the role of an admin, and no credential with the scope `admin`: he is a member, and answered like Bob
 *
 *   yes        let through, to whatever the request itself deserves
 *   forbidden  403, and the reason
 *   unknown    404, the same as for what does not exist
 *   read_only  403, of a thread that one may read
 *
 * Threads come twice: one that all of the org may read, and one that is Ann's own.
 */
import type { Scope } from '../../contract/scopes.js';

export type Expected = 'yes' | 'forbidden' | 'unknown' | 'read_only';
export type Person = 'ann' | 'bob' | 'ada' | 'gus';
type Scopes = Scope | `${Scope} ${Scope}` | `${Scope} ${Scope} ${Scope}`;
type Row = readonly [request: string, scopes: Scopes, ann: Expected, bob: Expected, ada: Expected, gus: Expected];

export const RUNS: readonly Row[] = [
  ['startRun', 'runs:start', 'yes', 'yes', 'yes', 'yes'],
  ['startRun?stream=true', 'runs:start runs:read', 'yes', 'yes', 'yes', 'yes'],
  ['startRun?stream=true&on_disconnect=cancel', 'runs:start runs:read runs:cancel', 'yes', 'yes', 'yes', 'yes'],
  ['listRuns', 'runs:read', 'yes', 'yes', 'yes', 'yes'],
  ['readRun', 'runs:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readTree', 'runs:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readTranscript', 'runs:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readSteps', 'runs:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readArtefact', 'runs:read', 'yes', 'yes', 'yes', 'unknown'],
  ['streamEvents', 'runs:read', 'yes', 'yes', 'yes', 'unknown'],
  // To leave such a stream is to cancel.
  ['streamEvents?on_disconnect=cancel', 'runs:read runs:cancel', 'yes', 'forbidden', 'yes', 'unknown'],
  ['cancelRun', 'runs:cancel', 'yes', 'forbidden', 'yes', 'unknown'],
  ['answerClarification', 'runs:answer', 'yes', 'forbidden', 'yes', 'unknown'],
  ['submitToolResults', 'runs:answer', 'yes', 'forbidden', 'yes', 'unknown'],
  ['decideApproval', 'runs:approve', 'yes', 'forbidden', 'yes', 'unknown'],
];

export const AGENTS: readonly Row[] = [
  ['listAgents', 'agents:read', 'yes', 'yes', 'yes', 'yes'],
  ['listModelProfiles', 'agents:read', 'yes', 'yes', 'yes', 'yes'],
  ['listThreadModelProfiles', 'threads:read', 'yes', 'yes', 'yes', 'yes'],
  ['createStoredAgent', 'agents:write', 'yes', 'yes', 'yes', 'yes'],
  ['listStoredAgents', 'agents:read', 'yes', 'yes', 'yes', 'yes'],
  ['readStoredAgentByName', 'agents:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readStoredAgent', 'agents:read', 'yes', 'yes', 'yes', 'unknown'],
  ['updateStoredAgent', 'agents:write', 'yes', 'yes', 'yes', 'unknown'],
  ['launchStoredAgent', 'threads:write', 'yes', 'yes', 'yes', 'unknown'],
  ['deleteStoredAgent', 'agents:write', 'yes', 'yes', 'yes', 'unknown'],
];

/** Of a thread that all of the org may read. */
export const ORG_THREADS: readonly Row[] = [
  ['startThread', 'threads:write', 'yes', 'yes', 'yes', 'yes'],
  ['listThreads', 'threads:read', 'yes', 'yes', 'yes', 'yes'],
  ['searchThreads', 'threads:read', 'yes', 'yes', 'yes', 'yes'],
  ['listThreadSummaries', 'threads:read', 'yes', 'yes', 'yes', 'yes'],
  ['readThread', 'threads:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readThreadDelta', 'threads:read', 'yes', 'yes', 'yes', 'unknown'],
  ['readThreadSummary', 'threads:read', 'yes', 'yes', 'yes', 'unknown'],
  ['streamThreadEvents', 'threads:read', 'yes', 'yes', 'yes', 'unknown'],
  ['streamThreadEvents?on_disconnect=cancel', 'threads:read threads:write', 'yes', 'read_only', 'yes', 'unknown'],
  ['giveFeedback', 'threads:write', 'yes', 'yes', 'yes', 'unknown'],
  ['pinThread', 'threads:write', 'yes', 'yes', 'yes', 'unknown'],
  ['forkThread', 'threads:write', 'yes', 'yes', 'yes', 'unknown'],
  ['sendMessage', 'threads:write', 'yes', 'read_only', 'yes', 'unknown'],
  ['submitToolUseResults', 'threads:write', 'yes', 'read_only', 'yes', 'unknown'],
  // Who may decide, the agent's policy says, as for runs: by default whoever made the thread, and admins.
  ['decideThreadApproval', 'runs:approve', 'yes', 'forbidden', 'yes', 'unknown'],
  ['cancelTurn', 'threads:write', 'yes', 'read_only', 'yes', 'unknown'],
  ['setVisibility', 'threads:write', 'yes', 'read_only', 'yes', 'unknown'],
  ['renameThread', 'threads:write', 'yes', 'read_only', 'yes', 'unknown'],
  ['deleteThread', 'threads:write', 'yes', 'read_only', 'yes', 'unknown'],
];

/** Of one that is Ann's own, Bob learns no more than Gus; an admin reads and writes as in any. */
export const OWN_THREADS: readonly Row[] = ORG_THREADS.filter(([, , , , , gus]) => gus === 'unknown').map(
  ([request, scopes, ann, , ada, gus]) => [request, scopes, ann, 'unknown', ada, gus],
);

/**
 * Of an agent whose policy says `answers: ['role:support']` and `approvals: ['role:finance']`. Sue is of the support and
 * Fay of finance, both members as Bob is; everybody has all scopes of their role.
 */
export type Named = Exclude<Person, 'gus'> | 'sue' | 'fay';
export const BY_POLICY: readonly (readonly [request: string, Record<Named, Expected>])[] = [
  ['answerClarification', { ann: 'forbidden', bob: 'forbidden', ada: 'forbidden', sue: 'yes', fay: 'forbidden' }],
  ['submitToolResults', { ann: 'forbidden', bob: 'forbidden', ada: 'forbidden', sue: 'yes', fay: 'forbidden' }],
  ['decideApproval', { ann: 'forbidden', bob: 'forbidden', ada: 'forbidden', sue: 'forbidden', fay: 'yes' }],
  // What is too long to be decided in a thread is decided at the run of its turn, by the same people.
  ['decideApproval of a turn', { ann: 'forbidden', bob: 'forbidden', ada: 'forbidden', sue: 'forbidden', fay: 'yes' }],
  // Through a thread, it also takes somebody who may write to it.
  [
    'submitToolUseResults',
    { ann: 'forbidden', bob: 'read_only', ada: 'forbidden', sue: 'read_only', fay: 'read_only' },
  ],
  ['decideThreadApproval', { ann: 'forbidden', bob: 'forbidden', ada: 'forbidden', sue: 'forbidden', fay: 'yes' }],
];

/** About all orgs, and so no matter of any: for the operator. */
export const OPERATION: readonly Row[] = [
  ['metrics', 'metrics', 'yes', 'yes', 'yes', 'yes'],
  ['decodePayloads', 'codec', 'yes', 'yes', 'yes', 'yes'],
  ['encodePayloads', 'codec', 'yes', 'yes', 'yes', 'yes'],
];

/** For anybody, without a credential; `openFile` opens what its address is signed for: `file-links.test.ts`. */
export const OPEN = ['health', 'ready', 'openapi', 'openFile'];
