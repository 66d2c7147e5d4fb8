/** The streams of `stream-server.ts` in a process of its own, for tests that kill it. Goes when its parent is gone. */
import type { ServerOptions } from '../../../worker/create-worker.js';
import { connectClient } from '../../../worker/create-worker.js';
import { serveStreams } from '../../gateway/stream/stream-server.js';

const [argument] = process.argv.slice(2);
if (argument === undefined) throw new Error('usage: gateway-main OPTIONS_AS_JSON');
const { server, port } = JSON.parse(argument) as { server: ServerOptions; port: number };
const { client } = await connectClient(server);
const { url } = await serveStreams(client.runs, { port, heartbeatMs: 500 });
process.stdin.on('end', () => process.exit(1)).resume();
process.stdout.write(`${url}\n`);
