/** The gateway in a process of its own that a test can kill. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { World } from '../../support/world.js';

const MAIN = fileURLToPath(new URL('./gateway-main.ts', import.meta.url));

export interface GatewayProcess {
  url: string;
  kill(): Promise<void>;
}

/** On a port of its choice, or the one that is given. */
export async function startGatewayProcess({ server }: Pick<World, 'server'>, port = 0): Promise<GatewayProcess> {
  const options = JSON.stringify({ server, port });
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', MAIN, options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  if (child.stdout === null) throw new Error('the gateway process has no output');
  const lines = createInterface({ input: child.stdout });
  const early = exited.then(() => {
    throw new Error('the gateway process ended before it was ready');
  });
  const [url] = (await Promise.race([once(lines, 'line'), early])) as [string];
  early.catch(() => undefined);
  return { url, kill };
}
