/** History events and bytes per model call as a conversation grows, beside the same load with the whole conversation in each input. */
import { NativeConnection, Worker } from '@temporalio/worker';
import { z } from 'zod';
import type { BaseMessage } from '../contract/messages.js';
import { defineAgent, defineTool } from '../kit/index.js';
import { scripted } from '../providers/index.js';
import { bundleBaseline, openStage, table } from './stage.js';

const LENGTHS = [10, 25, 50, 100];
const ANSWER = 'It is a long answer, of two kilobytes, as models like to give. '.repeat(33).slice(0, 2048);

const note = defineTool({
  tool_id: 'bench.notes.take',
  description: 'Takes a note.',
  input: z.object({ text: z.string() }),
  idempotent: true,
  run: () => 'noted',
});

export async function historyGrowth(): Promise<string> {
  const stage = await openStage();
  try {
    const worker = await stage.worker(
      {
        agents: [
          defineAgent({
            agent_id: 'bench.talker',
            instructions: 'Talk.',
            tools: [note],
            limits: { run: { max_steps: 200 } },
          }),
        ],
        models: {
          script: {
            model: 'scripted-1',
            provider: scripted((request) => {
              const calls = Number(/\d+/.exec(JSON.stringify(request.messages[1]?.content))?.[0]);
              const turn = { text: [ANSWER], tool_calls: [{ tool: 'bench.notes.take', args: { text: 'x' } }] };
              return { turns: [...Array.from({ length: calls - 1 }, () => turn), { text: [ANSWER] }] };
            }),
          },
        },
      },
      'growth',
    );
    const connection = await NativeConnection.connect(stage.server.connection);
    const baseline = await Worker.create({
      connection,
      taskQueue: 'growth-baseline',
      workflowBundle: await bundleBaseline(),
      activities: {
        answerWhole: (): BaseMessage[] => [
          { role: 'assistant', content: ANSWER, tool_calls: [] },
          { role: 'tool', tool_call_id: 'x', tool_name: 'bench.notes.take', content: 'noted' },
        ],
      },
    });
    const running = baseline.run();
    const { workflow } = worker.temporal;
    const rows: (string | number)[][] = [];
    const perCall: number[] = [];
    for (const calls of LENGTHS) {
      const { run_id } = await worker.client.runs.start({ agent_id: 'bench.talker', input: `answer ${calls} times` });
      await workflow.getHandle(run_id).result();
      const ours = await workflow.getHandle(run_id).describe();
      const whole = await workflow.start('wholeConversation', {
        taskQueue: 'growth-baseline',
        workflowId: `whole-${calls}`,
        args: [calls],
      });
      await whole.result();
      const theirs = await whole.describe();
      const bytes = ours.historySize ?? Number.NaN;
      perCall.push(bytes / calls);
      rows.push([
        calls,
        (ours.historyLength / calls).toFixed(1),
        Math.round(bytes / calls),
        Math.round((theirs.historySize ?? Number.NaN) / calls),
        ((theirs.historySize ?? Number.NaN) / bytes).toFixed(1),
      ]);
    }
    baseline.shutdown();
    await running;
    await connection.close();
    const spread = Math.max(...perCall) / Math.min(...perCall);
    return [
      table(
        [
          'model calls',
          'events per call',
          'bytes per call',
          'bytes per call, whole conversation in each input',
          'ratio of bytes',
        ],
        rows,
      ),
      '',
      `Bytes per call over all lengths: largest / smallest = ${spread.toFixed(2)} (flat means at most 1.20). Each call answers 2,048 bytes and calls one tool; the whole-conversation workflow has no tool activity, so it has fewer events per call.`,
    ].join('\n');
  } finally {
    await stage.close();
  }
}
