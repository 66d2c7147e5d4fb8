/** A process that starts an embedded server, for tests that end the process: prints the handle, then waits. */
import { startEmbeddedServer } from '../../worker/embedded-server.js';

const [dataDir, binary] = process.argv.slice(2);
if (dataDir === undefined || binary === undefined) throw new Error('usage: embedded-server-parent DATA_DIR BINARY');
const { pid, address } = await startEmbeddedServer({
  dataDir,
  binary,
  port: 0,
  uiPort: false,
  namespace: 'default',
  searchAttributes: {},
  report: () => undefined,
});
process.on('SIGINT', () => process.stdout.write('interrupted\n'));
process.stdout.write(`${JSON.stringify({ pid, address })}\n`);
