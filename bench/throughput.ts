/** Runs per second of a three-step agent, beside the same activities in a bare workflow, in turns on one server. */
import { z } from 'zod';
import { defineAgent, defineTool } from '../kit/index.js';
import { scripted } from '../providers/index.js';
import { median, openStage, table, timed } from './stage.js';

const RUNS = Number(process.env['PERDURE_BENCH_RUNS'] ?? 100);
const ROUNDS = 9;
const AT_ONCE = 20;

const look = defineTool({
  tool_id: 'bench.facts.look_up',
  description: 'Looks a fact up.',
  input: z.object({ about: z.string() }),
  idempotent: true,
  run: ({ about }) => `all about ${about}`,
});

const config = {
  agents: [defineAgent({ agent_id: 'bench.worker', instructions: 'Work.', tools: [look] })],
  models: {
    script: {
      model: 'scripted-1',
      provider: scripted(() => ({
        turns: [
          { text: 'First this.', tool_calls: [{ tool: 'bench.facts.look_up', args: { about: 'cats' } }] },
          { text: 'Then that.', tool_calls: [{ tool: 'bench.facts.look_up', args: { about: 'dogs' } }] },
          { text: 'Cats and dogs.' },
        ],
      })),
    },
  },
};

export async function throughput(): Promise<string> {
  const stage = await openStage();
  try {
    const worker = await stage.worker(config, 'ours');
    await stage.bareWorker(config, 'bare');
    const { workflow } = worker.temporal;
    const request = { agent_id: 'bench.worker', input: 'Tell me about cats and dogs.' };
    let id = 0;
    const ours = async () => {
      const { run_id } = await worker.client.runs.start(request);
      await workflow.getHandle(run_id).result();
    };
    const theirs = async () => {
      const runId = `bare-${++id}`;
      await workflow.execute('bareRun', { taskQueue: 'bare', workflowId: runId, args: [runId, request] });
    };
    await timed(AT_ONCE, AT_ONCE, ours);
    await timed(AT_ONCE, AT_ONCE, theirs);
    const rates = { ours: [] as number[], theirs: [] as number[], ratio: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      const a = RUNS / (await timed(RUNS, AT_ONCE, ours));
      const b = RUNS / (await timed(RUNS, AT_ONCE, theirs));
      rates.ours.push(a);
      rates.theirs.push(b);
      rates.ratio.push(a / b);
    }
    return [
      table(
        ['round', 'Perdure runs/s', 'bare workflow runs/s', 'ratio'],
        rates.ratio.map((ratio, n) => [
          n + 1,
          (rates.ours[n] ?? 0).toFixed(1),
          (rates.theirs[n] ?? 0).toFixed(1),
          ratio.toFixed(2),
        ]),
      ),
      '',
      `Median ratio ${median(rates.ratio).toFixed(2)} over ${ROUNDS} rounds of ${RUNS} runs each way, ${AT_ONCE} at once; a run is three model calls and two tool calls (six activities with the resolving one).`,
    ].join('\n');
  } finally {
    await stage.close();
  }
}
