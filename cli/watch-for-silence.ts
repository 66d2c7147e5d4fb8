/** A run from which nothing is heard may have no worker, or no server: this looks, and says so once. */
import type { Client } from '@temporalio/client';
import { findObstacle } from './find-obstacle.js';

const SILENCE_MS = 5_000;

export interface SilenceWatch {
  heard(): void;
  stop(): void;
}

export interface SilenceOptions {
  client: Client;
  runId: string;
  taskQueue: string | undefined;
  say: (line: string) => void;
}

export function watchForSilence({ client, runId, taskQueue, say }: SilenceOptions): SilenceWatch {
  let last = Date.now();
  let said: string | undefined;
  let looking = false;
  let stopped = false;

  const look = async () => {
    if (looking) return;
    looking = true;
    const obstacle = await findObstacle(client, runId, taskQueue);
    looking = false;
    if (stopped || obstacle?.text === said) return;
    said = obstacle?.text;
    if (obstacle === undefined) say('the obstacle is gone: the run can go on');
    else say(obstacle.at === 'server' ? `${obstacle.text}; still trying` : obstacle.text);
  };
  void look();
  const timer = setInterval(() => {
    if (Date.now() - last >= SILENCE_MS) void look();
  }, SILENCE_MS);
  return {
    heard() {
      last = Date.now();
      said = undefined;
    },
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
