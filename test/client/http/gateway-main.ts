/** The gateway in a process of its own, for tests that kill it. Goes when its parent is gone. */
import { createLog } from '../../../gateway/log.js';
import { serveGateway } from '../../../gateway/serve-gateway.js';
import { openGatewayRecords } from '../../../store/gateway-records.js';
import type { ServerOptions } from '../../../worker/create-worker.js';
import { connectClient } from '../../../worker/create-worker.js';
import { CATALOG } from '../../gateway/gateway-world.js';

const [argument] = process.argv.slice(2);
if (argument === undefined) throw new Error('usage: gateway-main OPTIONS_AS_JSON');
const { server, port } = JSON.parse(argument) as { server: ServerOptions; port: number };
const { client, artefacts } = await connectClient(server);
const { url } = await serveGateway({
  runs: client.runs,
  threads: client.threads,
  records: openGatewayRecords(server.dataDir),
  artefacts,
  workerPolls: () => Promise.resolve(true),
  catalog: CATALOG,
  auth: { kind: 'off' },
  log: createLog(process.stderr, 'error'),
  host: '127.0.0.1',
  port,
  endStreams: () => client.close(),
});
process.stdin.on('end', () => process.exit(1)).resume();
process.stdout.write(`${url}\n`);
