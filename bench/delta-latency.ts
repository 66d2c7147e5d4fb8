/** From a delta in the model activity to a subscriber, and what a streamed answer costs in history. */
import { defineAgent } from '../kit/index.js';
import { scripted } from '../providers/index.js';
import type { RunningWorker } from '../worker/create-worker.js';
import { connectClient } from '../worker/create-worker.js';
import { agesOf, clockModel } from './clock-model.js';
import { median, openStage, quantile, table } from './stage.js';

/** However many deltas: what a run shows of itself in the UI after a while must not be counted as theirs. */
const ANSWER_MS = 2_000;

async function watch(
  starter: Pick<RunningWorker, 'client'>,
  deltas: number,
): Promise<{ runId: string; latencies: number[] }> {
  const { run_id } = await starter.client.runs.start({ agent_id: 'bench.clock', input: `say ${deltas} words` });
  const latencies: number[] = [];
  for await (const event of starter.client.runs.stream(run_id)) {
    if (event.type !== 'text_chunk') continue;
    // A batch holds several deltas; each is as old as its own time says.
    latencies.push(...agesOf(event.text));
  }
  return { runId: run_id, latencies };
}

export async function deltaLatency(): Promise<string> {
  const stage = await openStage();
  try {
    const worker = await stage.worker(
      {
        agents: [defineAgent({ agent_id: 'bench.clock', instructions: 'Tick.' })],
        models: {
          clock: { provider: clockModel((words) => ANSWER_MS / words), model: 'clock' },
          script: { provider: scripted({ turns: [] }), model: 'none' },
        },
      },
      'latency',
    );
    const other = await connectClient({ ...stage.server, taskQueue: 'latency' }, { live: 'temporal' });
    await watch(worker, 20);
    const rows: (string | number)[][] = [];
    const events: number[] = [];
    const memory: number[] = [];
    for (const deltas of [50, 200, 400]) {
      const { runId, latencies } = await watch(worker, deltas);
      const { historyLength } = await worker.temporal.workflow.getHandle(runId).describe();
      events.push(historyLength);
      memory.push(...latencies);
      rows.push(['memory', deltas, median(latencies).toFixed(2), quantile(latencies, 0.99).toFixed(2), historyLength]);
    }
    const { runId, latencies } = await watch(other, 200);
    const bySignal = await worker.temporal.workflow.getHandle(runId).describe();
    rows.push([
      'temporal',
      200,
      median(latencies).toFixed(0),
      quantile(latencies, 0.99).toFixed(0),
      bySignal.historyLength,
    ]);
    await other.close();
    return [
      table(['channel', 'deltas', 'median ms', 'p99 ms', 'history events of the run'], rows),
      '',
      `Memory channel: median ${median(memory).toFixed(2)} ms; history events with 400 deltas / with 50 deltas = ${((events.at(-1) ?? 0) / (events[0] ?? 1)).toFixed(2)} (1.00 means that deltas cost no history); temporal channel / memory channel, median latency = ${(median(latencies) / median(memory)).toFixed(0)}.`,
    ].join('\n');
  } finally {
    await stage.close();
  }
}
