/** The gateway in a process of its own that a test can kill. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { ServerOptions } from '../../worker/create-worker.js';
import { built } from './built.js';

const MAIN = built('support/gateway-main.js');

export interface GatewayProcessOptions {
  server: ServerOptions;
  /** One of its choice if absent. */
  port?: number;
  /** The Redis from which it hears what workers say. */
  redis?: string;
  /** Its runs send live text as signals. */
  live?: 'temporal';
  /** It asks for API keys, those of the data folder. */
  keys?: boolean;
}

export interface GatewayProcess {
  url: string;
  /** How many queries it has sent. */
  queries(): Promise<number>;
  /** What it holds in memory once all that is of no use was thrown away. */
  heldBytes(): Promise<number>;
  /** The last that it printed on stderr. */
  lines(): readonly string[];
  kill(): Promise<void>;
}

const KEPT_LINES = 30;

export async function startGatewayProcess(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['--expose-gc', MAIN, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  const exited = once(child, 'exit');
  if (child.stdout === null || child.stderr === null) throw new Error('the gateway process has no output');
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
  });
  const early = exited.then(() => {
    throw new Error(`the gateway process ended before it was ready\n${lines.join('\n')}`);
  });
  const [url] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), early])) as [string];
  early.catch(() => undefined);
  const asked = async <T>(what: string): Promise<T> => {
    const answer = once(child, 'message');
    child.send(what);
    return ((await answer) as [T])[0];
  };
  return {
    url,
    queries: async () => (await asked<{ queries: number }>('queries')).queries,
    heldBytes: async () => (await asked<{ bytes: number }>('memory')).bytes,
    lines: () => lines,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
