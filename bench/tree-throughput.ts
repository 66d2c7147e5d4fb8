/** A tree of one root and ten children side by side, beside eleven bare workflows with the same activities. */
import { z } from 'zod';
import { agentAsTool, defineAgent } from '../kit/index.js';
import { scripted } from '../providers/index.js';
import { median, openStage, table, timed } from './stage.js';

const TREES = Number(process.env['PERDURE_BENCH_TREES'] ?? 20);
const CHILDREN = 10;
const ROUNDS = 5;
const AT_ONCE = 4;

const model = (turns: Parameters<typeof scripted>[0]) => ({ provider: scripted(turns), model: 'scripted-1' });
const leaf = defineAgent({
  agent_id: 'bench.leaf',
  description: 'Does a part.',
  instructions: 'Do your part.',
  model: 'leaf',
});
const part = agentAsTool(leaf, { tool_id: 'bench.parts.do', input: z.object({ n: z.number() }), prompt: 'part {{n}}' });
const config = {
  agents: [
    defineAgent({ agent_id: 'bench.root', instructions: 'Delegate.', tools: [part], model: 'root' }),
    // The bare root makes one model call per step too, but its children are not its tools.
    defineAgent({ agent_id: 'bench.alone', instructions: 'Answer.', model: 'alone' }),
  ],
  models: {
    root: model(() => ({
      turns: [
        { tool_calls: Array.from({ length: CHILDREN }, (_, n) => ({ tool: 'bench.parts.do', args: { n } })) },
        { text: 'All parts are done.' },
      ],
    })),
    leaf: model(() => ({ turns: [{ text: 'My part is done.' }] })),
    alone: model(() => ({ turns: [{ text: 'All parts are done.' }] })),
  },
};

export async function treeThroughput(): Promise<string> {
  const stage = await openStage();
  try {
    const worker = await stage.worker(config, 'trees');
    await stage.bareWorker(config, 'bare-trees');
    const { workflow } = worker.temporal;
    let id = 0;
    let lastRun = '';
    const ours = async () => {
      const { run_id } = await worker.client.runs.start({ agent_id: 'bench.root', input: 'Do it.' });
      await workflow.getHandle(run_id).result();
      lastRun = run_id;
    };
    const theirs = async () => {
      const runId = `bare-tree-${++id}`;
      const agents = { root: 'bench.alone', leaf: 'bench.leaf' };
      await workflow.execute('bareTree', {
        taskQueue: 'bare-trees',
        workflowId: runId,
        args: [runId, agents, CHILDREN],
      });
    };
    await timed(AT_ONCE, AT_ONCE, ours);
    await timed(AT_ONCE, AT_ONCE, theirs);
    const rows: (string | number)[][] = [];
    const ratios: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const a = TREES / (await timed(TREES, AT_ONCE, ours));
      const b = TREES / (await timed(TREES, AT_ONCE, theirs));
      ratios.push(a / b);
      rows.push([round, a.toFixed(2), b.toFixed(2), (a / b).toFixed(2)]);
    }
    const [root, child] = await Promise.all(
      [lastRun, `${lastRun}/call_1_1`].map(async (runId) => (await workflow.getHandle(runId).describe()).historyLength),
    );
    return [
      table(['round', 'Perdure trees/s', 'bare trees/s', 'ratio'], rows),
      '',
      `Median ratio ${median(ratios).toFixed(2)} over ${ROUNDS} rounds of ${TREES} trees each way, ${AT_ONCE} at once; a tree is one root and ${CHILDREN} children. History events: ${child ?? '?'} in a child, ${root ?? '?'} in the root, which makes ${(((root ?? 0) + CHILDREN * (child ?? 0)) / CHILDREN).toFixed(1)} per child with the root's share.`,
    ].join('\n');
  } finally {
    await stage.close();
  }
}
