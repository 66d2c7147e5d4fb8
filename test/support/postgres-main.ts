/** A Postgres server as a process: its address on stdout, until stdin ends. For benchmarks, and for trying things out. */
import { startPostgres } from './postgres.js';

const server = await startPostgres((line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${server.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.stdin.destroy());
process.stdin.resume().once('close', () => void server.stop().then(() => process.exit(0)));
