/** A world on a server of its own that takes only a few updates. What was made there is replayed with all others. */
import type { ConfigOptions } from '../../kit/index.js';
import { startOwnServer } from './kept-histories.js';
import { createWorld } from './world.js';
import type { World } from './world.js';

export interface FewUpdates {
  /** In one execution of a workflow. Temporal's default is 2,000. */
  total: number;
  /** At the same time. Temporal's default is 10. */
  inFlight: number;
  /** Signals, in one execution. Temporal's default is 10,000. */
  signals: number;
}

export async function createFewUpdates(
  config: ConfigOptions,
  { total, inFlight, signals }: FewUpdates,
): Promise<World> {
  const server = await startOwnServer({
    dynamicConfig: {
      'history.maxTotalUpdates': total,
      'history.maxInFlightUpdates': inFlight,
      'history.maximumSignalsPerExecution': signals,
    },
  });
  const world = await createWorld(config, { address: server.address });
  return {
    ...world,
    async end() {
      await world.end();
      await server.stop();
    },
  };
}

/** How many commands came as signals, in the execution that is open or the last one. */
export async function signalledCommands({ temporal }: World, workflowId: string): Promise<number> {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'command')
    .length;
}
