/** History events and bytes per turn as a thread grows, beside a conversation that is given to each turn whole. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { Threads } from '../client/index.js';
import type { BaseMessage } from '../contract/messages.js';
import { defineAgent } from '../kit/index.js';
import { scripted } from '../providers/index.js';
import { bundleBaseline, openStage, table } from './stage.js';

const LENGTHS = [10, 100, 500];
const QUESTION = 'What else is there to say about it? '.repeat(3);
const ANSWER = 'There is always something more to say. '.repeat(10);
const BASELINE_QUEUE = 'threads-baseline';

interface Cost {
  events: number;
  bytes: number;
}

export async function threadGrowth(): Promise<string> {
  const stage = await openStage();
  try {
    const script = { turns: Array.from({ length: Math.max(...LENGTHS) }, () => ({ text: [ANSWER] })) };
    const worker = await stage.worker(
      {
        agents: [defineAgent({ agent_id: 'bench.talker', instructions: 'Talk.' })],
        models: { script: { model: 'scripted-1', provider: scripted(script) } },
      },
      'threads',
    );
    const connection = await NativeConnection.connect(stage.server.connection);
    const baseline = await Worker.create({
      connection,
      taskQueue: BASELINE_QUEUE,
      workflowBundle: await bundleBaseline(),
      activities: { answerWhole: (): BaseMessage[] => [{ role: 'assistant', content: ANSWER }] },
    });
    const running = baseline.run();
    const rows: (string | number)[][] = [];
    const perTurn: number[] = [];
    for (const turns of LENGTHS) {
      const ours = await talk(worker.client.threads, worker.temporal, turns);
      const theirs = await talkWhole(worker.temporal, turns);
      perTurn.push(ours.bytes / turns);
      rows.push([
        turns,
        ours.executions,
        (ours.events / turns).toFixed(1),
        Math.round(ours.bytes / turns),
        Math.round(theirs.bytes / turns),
        (theirs.bytes / ours.bytes).toFixed(1),
      ]);
    }
    baseline.shutdown();
    await running;
    await connection.close();
    const spread = Math.max(...perTurn) / Math.min(...perTurn);
    return [
      table(
        [
          'turns',
          'executions of the thread',
          'events per turn',
          'bytes per turn',
          'bytes per turn, whole conversation in each',
          'ratio of bytes',
        ],
        rows,
      ),
      '',
      `Of the thread, over all its executions, and of the runs of its turns. Bytes per turn over all lengths: largest / smallest = ${spread.toFixed(2)} (flat means at most 1.20). A question has ${QUESTION.length} bytes, an answer ${ANSWER.length}. The workflow that it is compared with does the same with a child per turn, which is given the conversation, and continues as new when Temporal suggests it.`,
    ].join('\n');
  } finally {
    await stage.close();
  }
}

async function talk(threads: Threads, client: Client, turns: number): Promise<Cost & { executions: number }> {
  const { thread_id } = await threads.start({ agent_id: 'bench.talker' });
  const { runId } = await client.workflow.getHandle(thread_id).describe();
  for (let n = 1; n <= turns; n++) {
    await threads.send(thread_id, { message: QUESTION });
    while ((await threads.header(thread_id)).status === 'roboto_turn')
      await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const chain = await costOfChain(client, thread_id, runId);
  return { ...(await withTurns(client, chain, thread_id, turns)), executions: chain.executions };
}

async function talkWhole(client: Client, turns: number): Promise<Cost> {
  const id = `whole-thread-${turns}`;
  const handle = await client.workflow.start('wholeThread', {
    taskQueue: BASELINE_QUEUE,
    workflowId: id,
    args: [turns, QUESTION],
  });
  await handle.result();
  return withTurns(client, await costOfChain(client, id, handle.firstExecutionRunId), id, turns);
}

/** Of all executions of one workflow, from the first. */
async function costOfChain(client: Client, id: string, first: string): Promise<Cost & { executions: number }> {
  const cost = { events: 0, bytes: 0, executions: 0 };
  for (let runId: string | undefined = first; runId !== undefined;) {
    const handle: WorkflowHandle = client.workflow.getHandle(id, runId);
    const { historyLength, historySize = Number.NaN } = await handle.describe();
    cost.events += historyLength;
    cost.bytes += historySize;
    cost.executions += 1;
    runId = await nextOf(client, id, runId);
  }
  return cost;
}

/** temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT */
const CLOSE_EVENT = 2;

/** The execution that one continued as, by its last event alone: a whole history may be larger than an answer of the server. */
async function nextOf(client: Client, workflowId: string, runId: string): Promise<string | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    historyEventFilterType: CLOSE_EVENT,
  });
  return history?.events?.[0]?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId || undefined;
}

async function withTurns(client: Client, { events, bytes }: Cost, id: string, turns: number): Promise<Cost> {
  const cost = { events, bytes };
  for (let n = 1; n <= turns; n++) {
    const { historyLength, historySize = Number.NaN } = await client.workflow.getHandle(`${id}/turn_${n}`).describe();
    cost.events += historyLength;
    cost.bytes += historySize;
  }
  return cost;
}
