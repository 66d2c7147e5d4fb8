/**
 * Reading runs that have ended, each once from the archive and once by a worker that replays it; and what the copying
 * costs the worker: runs per second with an archive, beside those without, in turns on one server.
 */
import { defineAgent, defineTool } from '../kit/index.js';
import { scripted } from '../providers/index.js';
import { openRecords } from '../store/records.js';
import { closedLogsOf } from '../worker/archive/closed-logs.js';
import { connectClient } from '../worker/create-worker.js';
import { z } from 'zod';
import { median, openStage, table, timed } from './stage.js';

const STEPS = [1, 10, 50];
const READ = 30;
const RUNS = Number(process.env['PERDURE_BENCH_RUNS'] ?? 100);
const ROUNDS = 5;
const AT_ONCE = 20;

const look = defineTool({
  tool_id: 'bench.facts.look_up',
  description: 'Looks a fact up.',
  input: z.object({ about: z.string() }),
  idempotent: true,
  run: ({ about }) => `all about ${about}: ${'fact '.repeat(50)}`,
});

/** As many steps as its input says. */
const config = {
  agents: [defineAgent({ agent_id: 'bench.worker', instructions: 'Work.', tools: [look] })],
  models: {
    script: {
      model: 'scripted-1',
      provider: scripted(({ messages }) => {
        const asked = messages.find((message) => message.role === 'user')?.content;
        const steps = Number(typeof asked === 'string' ? asked : 1);
        const turn = { text: 'Next.', tool_calls: [{ tool: 'bench.facts.look_up', args: { about: 'cats' } }] };
        return { turns: [...Array.from({ length: steps - 1 }, () => turn), { text: 'Cats and dogs.' }] };
      }),
    },
  },
};

export async function endedRuns(): Promise<string> {
  const stage = await openStage();
  const records = await openRecords({ dataDir: stage.server.dataDir, report: console.error });
  const { archive } = records;
  const worker = await stage.worker(config, 'archived', archive);
  const plain = await stage.worker(config, 'plain');
  const server = { ...stage.server, taskQueue: 'archived' };
  const live = await connectClient(server);
  const kept = await connectClient(server, { archive: closedLogsOf(archive) });
  const run = async ({ client, temporal }: typeof worker, steps: number) => {
    const { run_id } = await client.runs.start({ agent_id: 'bench.worker', input: String(steps) });
    await temporal.workflow.getHandle(run_id).result();
    return run_id;
  };
  try {
    const rows: (string | number)[][] = [];
    for (const steps of STEPS) {
      const ids = await Promise.all(Array.from({ length: READ }, () => run(worker, steps)));
      while ((await archive.findMissing(ids)).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
      const [fast, slow]: [number[], number[]] = [[], []];
      let events = 0;
      for (const id of ids) {
        const read = async (reader: typeof live, times: number[]) => {
          const begun = performance.now();
          const { tail } = await reader.client.runs.get(id);
          times.push(performance.now() - begun);
          events = tail;
        };
        await read(kept, fast);
        await read(live, slow);
      }
      const [a, b] = [median(fast), median(slow)];
      rows.push([steps, events, a.toFixed(2), b.toFixed(2), (b / a).toFixed(1)]);
    }
    const rates = { archived: [] as number[], plain: [] as number[] };
    for (let round = -1; round < ROUNDS; round++) {
      const one = RUNS / (await timed(RUNS, AT_ONCE, () => run(worker, 3)));
      const other = RUNS / (await timed(RUNS, AT_ONCE, () => run(plain, 3)));
      // The first warms up.
      if (round < 0) continue;
      rates.archived.push(one);
      rates.plain.push(other);
    }
    const [with_, without] = [median(rates.archived), median(rates.plain)];
    return [
      table(['steps', 'events', 'ms, archive', 'ms, replay', 'times faster'], rows),
      '',
      `Runs of three steps, ${AT_ONCE} at once: ${with_.toFixed(0)} a second with an archive, ${without.toFixed(0)} without, ratio ${(with_ / without).toFixed(2)}.`,
    ].join('\n');
  } finally {
    await live.close();
    await kept.close();
    await stage.close();
    await records.close();
  }
}
