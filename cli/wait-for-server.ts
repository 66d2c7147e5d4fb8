/** A worker whose server is gone tries until it is back by itself: this says so once, and when it is back. */
import type { Client } from '@temporalio/client';
import { whyNot } from './why-not.js';

const LOOK_MS = 2_000;

/** What it gives is called, as often as one likes, while the server does not answer. */
export function waitForServer(client: Client, say: (line: string) => void): () => void {
  let isLost = false;

  const look = () =>
    client
      .withDeadline(Date.now() + LOOK_MS, () => client.workflowService.getSystemInfo({}))
      .then(
        () => undefined,
        (error: unknown) => whyNot(error),
      );

  async function watch(): Promise<void> {
    let said = false;
    for (let why = await look(); why !== undefined; why = await look()) {
      if (!said) say(`the Temporal server does not answer: ${why}. The worker goes on when it is back`);
      said = true;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS).unref());
    }
    if (said) say('the Temporal server answers again');
    isLost = false;
  }

  return () => {
    if (isLost) return;
    isLost = true;
    void watch();
  };
}
