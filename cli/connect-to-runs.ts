/** For commands about what is there: a connection for as long as the work takes, and errors that say why. */
import { findApplication } from './application.js';
import { connect } from './connect.js';
import { scopeOf } from '../contract/artefacts.js';
import { gatewayClient } from './gateway-address.js';
import type { FoundBy } from './repeat-flags.js';
import { threadCommands } from './run-commands.js';
import type { RunsClient, ThreadCommands } from './run-commands.js';
import { serverSettings } from './server-settings.js';
import { readingStorageOf, withStorageOf } from './server-storage.js';
import { withServerOf } from './up-here.js';
import { withObstacle } from './with-obstacle.js';

export async function connectToRuns<T>(
  /** Undefined where it is about no run in particular. */
  runId: string | undefined,
  flags: FoundBy,
  work: (connected: RunsClient & { threads: ThreadCommands }) => Promise<T>,
  use: 'read' | 'write' = 'write',
): Promise<T> {
  const gateway = gatewayClient(flags, process.env);
  if (gateway !== undefined) {
    try {
      const { runs, threads } = gateway;
      const commands = { list: threads.list, get: threads.state };
      return await work({ client: gateway, threads: commands, readArtefact: runs.readArtefact });
    } finally {
      await gateway.close();
    }
  }
  const application = findApplication(flags);
  const { dataDir } = application;
  const given = withServerOf(dataDir, serverSettings(flags, process.env));
  const settings = use === 'write' ? await withStorageOf(application, given) : readingStorageOf(application, given);
  const connected = await connect(settings, dataDir);
  try {
    return await work({
      ...connected,
      threads: threadCommands(connected.client.threads),
      readArtefact: (runId, id) => connected.artefacts.of(scopeOf(runId)).read(id),
    });
  } catch (error) {
    const what = runId === undefined ? 'threads are read by asking a worker' : undefined;
    throw await withObstacle(error, connected, runId, flags.taskQueue, what);
  } finally {
    await connected.close();
  }
}

/** For commands that change nothing: quicker, where the application need not be loaded. */
export function readRuns<T>(...[runId, flags, work]: Parameters<typeof connectToRuns<T>>): Promise<T> {
  return connectToRuns(runId, flags, work, 'read');
}
