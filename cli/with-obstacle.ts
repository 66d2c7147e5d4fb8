/** What runs and threads know is read by asking a worker: where none is there, that is the reason why it cannot be. */
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import { findObstacle } from './find-obstacle.js';

export async function withObstacle(
  error: unknown,
  { temporal }: Pick<ConnectedClient, 'temporal'>,
  runId: string | undefined,
  taskQueue?: string,
  what = "the run's log is read by asking a worker",
): Promise<unknown> {
  if (!isPerdureError(error) || error.code !== 'server_unreachable') return error;
  const obstacle = await findObstacle(temporal, runId, taskQueue);
  if (obstacle === undefined) return error;
  return new PerdureError('server_unreachable', `${what}, and ${obstacle.text}`, {
    cause: error,
  });
}
