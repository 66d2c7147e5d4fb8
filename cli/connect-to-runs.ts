/** For commands about runs that are there: a connection for as long as the work takes, and errors that say why. */
import type { ConnectedClient } from '../worker/create-worker.js';
import { dataDirFor, findConfig } from './config-file.js';
import { connect } from './connect.js';
import type { FoundBy } from './repeat-flags.js';
import { serverSettings } from './server-settings.js';
import { withObstacle } from './with-obstacle.js';

export async function connectToRuns<T>(
  runId: string,
  flags: FoundBy,
  work: (connected: ConnectedClient) => Promise<T>,
): Promise<T> {
  const settings = serverSettings(flags, process.env);
  const cwd = process.cwd();
  const connected = await connect(settings, dataDirFor(cwd, findConfig(cwd, flags.config), flags.dataDir));
  try {
    return await work(connected);
  } catch (error) {
    throw await withObstacle(error, connected, runId, flags.taskQueue);
  } finally {
    await connected.close();
  }
}
