/** A client of a world whose commands are held on their way to the server until they are let go. */
import { InterceptingCall } from '@grpc/grpc-js';
import type { Interceptor } from '@grpc/grpc-js';
import { Client, Connection } from '@temporalio/client';
import { createClient } from '../../client/index.js';
import type { ClientOptions, PerdureClient } from '../../client/index.js';
import { CALL_INTERCEPTORS } from '../../worker/call-retries.js';
import type { World } from './world.js';

export interface HeldUpdates {
  client: PerdureClient;
  hold(): void;
  letGo(): void;
  close(): Promise<void>;
}

export async function createHeldUpdates(world: World, limits: ClientOptions['limits']): Promise<HeldUpdates> {
  let gate = Promise.resolve();
  let letGo = () => {};
  const interceptor: Interceptor = (options, nextCall) => {
    const isHeld = options.method_definition.path.endsWith('/UpdateWorkflowExecution');
    return new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        void (async () => {
          if (isHeld) await gate;
          next(metadata, listener);
        })();
      },
    });
  };
  const connection = await Connection.connect({
    ...world.server.connection,
    interceptors: [...CALL_INTERCEPTORS, interceptor],
  });
  const client = createClient({
    client: new Client({ connection, dataConverter: world.storage.dataConverter }),
    artefacts: world.artefacts,
    taskQueue: world.server.taskQueue,
    ...(limits === undefined ? {} : { limits }),
  });
  return {
    client,
    hold() {
      gate = new Promise((resolve) => (letGo = resolve));
    },
    letGo: () => letGo(),
    async close() {
      await client.close();
      await connection.close();
    },
  };
}
