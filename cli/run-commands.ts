/** What commands do with runs, over Temporal or through a gateway. */
import type { Runs } from '../client/index.js';

export type RunCommands = Pick<
  Runs,
  'start' | 'stream' | 'get' | 'cancel' | 'answerClarification' | 'submitToolResults' | 'decideApproval'
>;

export interface RunsClient {
  client: { readonly runs: RunCommands };
}
