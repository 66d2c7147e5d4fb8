/** A worker killed in the middle of a thread, while two clients follow it, each by tokens of its own. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { PerdureClient } from '../../client/index.js';
import { isPerdureError } from '../../contract/errors.js';
import type { AgentThreadRecord } from '../../contract/thread-records.js';
import { call, script } from '../support/test-agents.js';
import { WINDOW_AGENT } from '../support/window-model.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { ofType } from '../support/world.js';
import { follow, told } from '../threads/thread-world.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld } from './crash-world.js';

let world: CrashWorld;
let worker: WorkerProcess;
let clients: PerdureClient[];
beforeAll(async () => {
  world = await createCrashWorld(inject('temporalAddress'));
  worker = await world.startWorker();
  clients = [await world.connect(), await world.connect()];
}, TEST_TIMEOUT_MS);
afterAll(() => world.end());

async function killWorker(): Promise<void> {
  worker.kill('SIGKILL');
  expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
  worker = await world.startWorker();
}

/** Polls until it is told to stop; while no worker answers it asks again, with the token that it has. */
function pollOn({ threads }: PerdureClient, record: AgentThreadRecord) {
  const reader = follow(threads, record);
  let going = true;
  const poll = async () => {
    try {
      await reader.poll();
    } catch (error) {
      if (!isPerdureError(error) || error.code !== 'server_unreachable') throw error;
    }
  };
  const polling = (async () => {
    for (; going; await sleep(60)) await poll();
  })();
  polling.catch(() => {});
  return {
    held: reader.held,
    async stop() {
      going = false;
      await polling;
    },
  };
}

/** Plays a thread, followed by two; at the end both have what the thread has. */
async function watched(
  request: Parameters<PerdureClient['threads']['start']>[0],
  play: (threadId: string, held: () => AgentThreadRecord['messages']) => Promise<void>,
): Promise<AgentThreadRecord> {
  const { threads } = world.client;
  const begun = await threads.start(request);
  const { thread_id } = begun;
  const pollers = clients.map((client) => pollOn(client, begun));
  await play(thread_id, () => pollers[0]?.held().messages ?? []);
  const record = await threads.get(thread_id);
  // What was said is shown a moment before it is told whose turn it is.
  const seenOf = ({ messages, status, title }: Pick<AgentThreadRecord, 'messages' | 'status' | 'title'>) => ({
    messages,
    status,
    title,
  });
  const hasAll = () => pollers.every(({ held }) => JSON.stringify(seenOf(held())) === JSON.stringify(seenOf(record)));
  await eventually(hasAll, 'both readers to have it all').catch(() => {});
  for (const poller of pollers) {
    await poller.stop();
    expect(seenOf(poller.held())).toEqual(seenOf(record));
  }
  return record;
}

const answered = (threadId: string, messages: number) =>
  eventually(async () => {
    const record = await world.client.threads.get(threadId).catch(() => undefined);
    return record?.status === 'user_turn' && record.messages.length === messages;
  }, `${messages} messages`);

describe('a worker killed with SIGKILL in a thread', { timeout: TEST_TIMEOUT_MS }, () => {
  it('in a model call, in a tool call and between turns: one story, for both readers', async () => {
    const file = join(world.dataDir, 'again');
    const linesOf = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1;
    const words = Array.from({ length: 30 }, (_, n) => `word${n} `);
    const { threads } = world.client;
    const turns = [
      { text: words, delay_ms: 80 },
      { tool_calls: [call('effects.write_again', { path: file, line: 'x', ms: 1_500 })] },
      { text: 'Written.' },
      { text: 'Still here.' },
    ];
    const record = await watched({ agent_id: 'test.agent', messages: [script(turns)] }, async (id, held) => {
      const shown = () => held()[1]?.content[0];
      const isHalf = () => {
        const block = shown();
        return block?.content_type === 'text' && block.text.includes('word10');
      };
      await eventually(isHalf, 'half an answer');
      await killWorker();
      await answered(id, 2);

      await threads.send(id, { message: 'write' });
      await eventually(async () => (await linesOf()) === 1, 'the tool at work');
      await killWorker();
      await answered(id, 6);
      expect(await linesOf()).toBe(2);

      await killWorker();
      await threads.send(id, { message: 'still there?' });
      await answered(id, 8);
    });
    expect(told(record)).toEqual([
      'user completed: (script)',
      `assistant completed: ${words.join('').trim()}`,
      'user completed: write',
      'assistant completed: use turn_2_call_1_1',
      'roboto completed: success turn_2_call_1_1',
      'assistant completed: Written.',
      'user completed: still there?',
      'assistant completed: Still here.',
    ]);
    expect(ofType(await world.logOf(`${record.thread_id}/turn_1`), 'text_end')).toMatchObject([{ attempt: 2 }]);
  });

  it('while the conversation is being compacted: one summary, and nothing of it in the record', async () => {
    const { threads } = world.client;
    const question = (n: number) => `fact_${n} ${'x'.repeat(900)}`;
    const facts = (n: number) => Array.from({ length: n }, (_, index) => `fact_${index + 1}`).join(' ');
    const turns = 5;
    const record = await watched({ agent_id: WINDOW_AGENT, messages: [`hold ${question(1)}`] }, async (id) => {
      let kills = 0;
      await answered(id, 2);
      for (let n = 2; n <= turns; n++) {
        await threads.send(id, { message: question(n) });
        const handle = world.temporal.workflow.getHandle(`${id}/turn_${n}`);
        const isHeld = async () => {
          const { raw } = await handle.describe();
          return (raw.pendingActivities ?? []).some(
            ({ activityType, attempt, lastStartedTime }) =>
              activityType?.name === 'compactContext' && attempt === 1 && lastStartedTime != null,
          );
        };
        const isOver = async () => (await threads.header(id)).status === 'user_turn';
        await eventually(
          async () => (await isHeld().catch(() => false)) || (await isOver()),
          'a summary, or the answer',
        );
        if (!(await isOver())) {
          kills += 1;
          await killWorker();
        }
        await answered(id, n * 2);
      }
      expect(kills).toBe(1);
    });
    expect(record.messages.map(({ content }) => content[0])).toEqual(
      Array.from({ length: turns }, (_, n) => [
        { content_type: 'text', text: n === 0 ? `hold ${question(1)}` : question(n + 1) },
        { content_type: 'text', text: facts(n + 1) },
      ]).flat(),
    );
    const logs = await Promise.all(
      Array.from({ length: turns }, (_, n) => world.logOf(`${record.thread_id}/turn_${n + 1}`)),
    );
    expect(logs.flatMap((log) => ofType(log, 'context_compacted'))).toHaveLength(1);
  });
});
