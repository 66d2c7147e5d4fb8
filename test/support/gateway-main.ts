/** The gateway in a process of its own, for tests that kill it. Goes when its parent is gone. */
import { apiKeyCheck } from '../../gateway/auth/api-key.js';
import { DEFAULT_LIMITS } from '../../gateway/limits/gateway-limits.js';
import { createLog } from '../../gateway/log.js';
import { serveGateway } from '../../gateway/serve-gateway.js';
import { createRedisChannel } from '../../live/redis-channel.js';
import { connectClient } from '../../worker/create-worker.js';
import { CATALOG } from '../gateway/gateway-world.js';
import { recordsIn } from './records.js';
import type { GatewayProcessOptions } from './gateway-process.js';

const [argument] = process.argv.slice(2);
if (argument === undefined) throw new Error('usage: gateway-main OPTIONS_AS_JSON');
const { server, port = 0, redis, live, keys = false } = JSON.parse(argument) as GatewayProcessOptions;
const report = (line: string) => void process.stderr.write(`${line}\n`);
const { client, artefacts, temporal, storage } = await connectClient(server, {
  ...(live === undefined ? {} : { live }),
  ...(redis === undefined ? {} : { channel: createRedisChannel({ url: redis, report }) }),
});

/** Asked for by whoever wants to know how often workers were asked. */
let queries = 0;
const service = temporal.workflowService;
const query = service.queryWorkflow.bind(service);
service.queryWorkflow = ((request: Parameters<typeof query>[0]) => {
  queries += 1;
  return query(request);
}) as typeof query;
process.on('message', (asked) => {
  if (asked === 'queries') return void process.send?.({ queries });
  void heldBytes().then((bytes) => process.send?.({ bytes }));
});

/** Some of it is only let go in the next turns of the loop: what connections hold, for example. */
async function heldBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let rounds = 0; rounds < 10; rounds++) {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return least;
}

const others = ['test.agent', 'test.bare', 'test.asking', 'test.clock', 'test.patient'].map((agent_id) => ({
  agent_id,
  model_profile: 'script',
  tools: [],
}));
const records = await recordsIn(server.dataDir);
const { url } = await serveGateway({
  runs: client.runs,
  threads: client.threads,
  records,
  artefacts,
  payloads: storage.payloads,
  workerPolls: () => Promise.resolve(true),
  catalog: { ...CATALOG, agents: [...CATALOG.agents, ...others] },
  auth: keys ? { kind: 'on', checks: [apiKeyCheck(records.keys)] } : { kind: 'off' },
  limits: { ...DEFAULT_LIMITS, open_streams: 10_000, requests_per_second: 10_000, request_burst: 10_000 },
  log: createLog(process.stderr, 'error'),
  host: '127.0.0.1',
  port,
  endStreams: () => client.close(),
});
process.stdin.on('end', () => process.exit(1)).resume();
process.stdout.write(`${url}\n`);
