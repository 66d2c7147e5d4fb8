/** Workers and gateways in processes of their own, with a Redis between them. */
import { randomUUID } from 'node:crypto';
import type { DurableEvent } from '../../contract/events.js';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient, ServerOptions } from '../../worker/create-worker.js';
import { sharedClock } from '../support/clock-model.js';
import { createDataDir } from '../support/data-dir.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { startRedis } from '../support/redis.js';
import type { RedisServer } from '../support/redis.js';
import { startWorkerProcess } from '../support/worker-process.js';
import type { WorkerProcess } from '../support/worker-process.js';

export interface ApartWorld extends Pick<ConnectedClient, 'client' | 'temporal'> {
  redis: RedisServer;
  startWorker(): Promise<WorkerProcess>;
  /** `without`: it knows of no Redis, and polls. */
  startGateway(channel?: 'redis' | 'without'): Promise<GatewayProcess>;
  end(): Promise<void>;
}

/** The default: tests have a shorter one elsewhere. */
const AS_IN_PRODUCTION = { heartbeat_timeout: '10s' };

/** Its own client has no channel: what it reads, it reads from Temporal. `without`: its processes know of no Redis. */
export async function createApartWorld(address: string, channel: 'redis' | 'without' = 'redis'): Promise<ApartWorld> {
  const [redis, dataDir] = await Promise.all([startRedis(), createDataDir('apart')]);
  const server: ServerOptions = {
    connection: { address },
    namespace: 'default',
    dataDir,
    taskQueue: `apart-${randomUUID()}`,
  };
  const told = channel === 'redis' ? { redis: redis.url } : {};
  const connected = await connectClient(server);
  const workers: WorkerProcess[] = [];
  const gateways: GatewayProcess[] = [];
  return {
    ...connected,
    redis,
    async startWorker() {
      const worker = await startWorkerProcess({ server, ...told, runtime: AS_IN_PRODUCTION });
      workers.push(worker);
      return worker;
    },
    async startGateway(own = channel) {
      const gateway = await startGatewayProcess({ server, ...(own === 'redis' ? told : {}) });
      gateways.push(gateway);
      return gateway;
    },
    async end() {
      for (const worker of workers) worker.kill('SIGKILL');
      await Promise.all([...workers.map(({ exited }) => exited), ...gateways.map((gateway) => gateway.kill())]);
      await connected.close();
      await redis.stop();
    },
  };
}

export interface Line {
  /** When it came, by the clock of all processes. */
  at: number;
  event: Record<string, unknown> & { type: string };
}

export interface Reader {
  readonly lines: readonly Line[];
  /** All that came, to the byte. */
  readonly done: Promise<string>;
}

export async function startRun(
  gateway: GatewayProcess,
  agent_id: string,
  input: string,
  run_id?: string,
): Promise<string> {
  const body = JSON.stringify({ agent_id, input, ...(run_id === undefined ? {} : { run_id }) });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${gateway.url}/v1/runs`, { method: 'POST', headers, body });
  const answer = (await response.json()) as { run_id: string };
  if (response.status !== 201) throw new Error(`the run was not started: ${JSON.stringify(answer)}`);
  return answer.run_id;
}

/** A reader of a run, from its start to its end, over HTTP. */
export function openReader(gateway: GatewayProcess, runId: string): Reader {
  const lines: Line[] = [];
  const read = async () => {
    const response = await fetch(`${gateway.url}/v1/runs/${encodeURIComponent(runId)}/events?trailer=false`);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    const decoder = new TextDecoder();
    let [all, rest] = ['', ''];
    for await (const chunk of response.body ?? []) {
      const text = decoder.decode(chunk as Uint8Array, { stream: true });
      all += text;
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts)
        if (part !== '') lines.push({ at: sharedClock(), event: JSON.parse(part) as Line['event'] });
    }
    return all;
  };
  const done = read();
  // Whoever waits for it hears of it.
  done.catch(() => {});
  return { lines, done };
}

export function durableLines(lines: readonly Line[]): DurableEvent[] {
  return lines.flatMap(({ event }) => ('seq' in event ? [event as unknown as DurableEvent] : []));
}

/** The text of a block as it came, and how old each of its words was then. */
export function wordsOf(lines: readonly Line[], blockId = 'step_1.block_1'): { text: string; ages: number[] } {
  const chunks = lines.filter(({ event }) => event.type === 'text_chunk' && event['block_id'] === blockId);
  const ages = chunks.flatMap(({ at, event }) =>
    String(event['text'])
      .trim()
      .split(' ')
      .map((made) => at - Number(made)),
  );
  return { text: chunks.map(({ event }) => String(event['text'])).join(''), ages };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** Each durable event once and in order, the text of each block whole before it is closed. */
export function problemsOf(lines: readonly Line[], log: readonly DurableEvent[]): string[] {
  const problems: string[] = [];
  const got = durableLines(lines);
  if (JSON.stringify(got) !== JSON.stringify(log))
    problems.push(`${got.length} durable events, not the ${log.length} of the log`);
  const texts = new Map<string, string>();
  for (const { event } of lines) {
    const key = `${String(event['block_id'])}#${String(event['attempt'])}`;
    if (event.type === 'text_chunk') texts.set(key, (texts.get(key) ?? '') + String(event['text']));
    if (event.type === 'text_end' && texts.get(key) !== event['text'])
      problems.push(`${key}: told ${texts.get(key)?.length ?? 0} characters of ${String(event['text']).length}`);
  }
  return problems;
}

/** The worker that has the only call that the run has under way, once there is one. */
export async function workerOf(
  { temporal }: ApartWorld,
  runId: string,
  workers: readonly WorkerProcess[],
): Promise<WorkerProcess> {
  for (;;) {
    const { raw } = await temporal.workflow.getHandle(runId).describe();
    const [pending] = raw.pendingActivities ?? [];
    const at = workers.find(({ pid }) => pending?.lastWorkerIdentity?.startsWith(`${pid}@`));
    if (at !== undefined) return at;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
