/** For commands about runs that are there: a connection for as long as the work takes, and errors that say why. */
import { dataDirFor, findConfig } from './config-file.js';
import { connect } from './connect.js';
import { gatewayClient } from './gateway-address.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunsClient } from './run-commands.js';
import { serverSettings } from './server-settings.js';
import { withObstacle } from './with-obstacle.js';

export async function connectToRuns<T>(
  runId: string,
  flags: FoundBy,
  work: (connected: RunsClient) => Promise<T>,
): Promise<T> {
  const gateway = gatewayClient(flags, process.env);
  if (gateway !== undefined) {
    try {
      return await work({ client: gateway });
    } finally {
      await gateway.close();
    }
  }
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
