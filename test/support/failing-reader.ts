/** A reader in another process, whose calls of the server can be made to fail. */
import { InterceptingCall } from '@grpc/grpc-js';
import type { Interceptor } from '@grpc/grpc-js';
import { Client, Connection } from '@temporalio/client';
import { createClient } from '../../client/index.js';
import type { PerdureClient } from '../../client/index.js';
import type { World } from './world.js';

export interface FailingReader {
  client: PerdureClient;
  /** From now on every call fails so; undefined: no more. */
  failWith(code: number | undefined): void;
  /** How many calls have failed so, and how many have not. */
  failed(): number;
  succeeded(): number;
  /** What it was told of: `run` or `thread`, and the id. */
  obstacles: string[];
  close(): Promise<void>;
}

export async function connectReader(world: World, namespace = 'default'): Promise<FailingReader> {
  let failing: number | undefined;
  const calls = { failed: 0, succeeded: 0 };
  const interceptor: Interceptor = (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, _listener, next) {
        next(metadata, {
          onReceiveMessage: (message, nextMessage) => nextMessage(failing === undefined ? message : undefined),
          onReceiveStatus(received, nextStatus) {
            calls[failing === undefined ? 'succeeded' : 'failed'] += 1;
            nextStatus(
              failing === undefined ? received : { ...received, code: failing, details: 'as the test wants it' },
            );
          },
        });
      },
    });
  const connection = await Connection.connect({ ...world.server.connection, interceptors: [interceptor] });
  const obstacles: string[] = [];
  const client = createClient({
    client: new Client({ connection, namespace }),
    taskQueue: world.server.taskQueue,
    onObstacle: (id, _error, what) => obstacles.push(`${what} ${id}`),
  });
  return {
    client,
    obstacles,
    failed: () => calls.failed,
    succeeded: () => calls.succeeded,
    failWith: (code) => (failing = code),
    async close() {
      await client.close();
      await connection.close();
    },
  };
}
