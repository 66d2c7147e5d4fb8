/** `perdure temporal`: the stock `temporal` command that the embedded server is made of, on the server of this folder. */
import { spawn } from 'node:child_process';
import { findServerBinary } from '../worker/server-binary.js';
import { findApplication } from './application.js';
import { CommandError, messageOf } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { createNotices } from './notices.js';
import { serverSettings } from './server-settings.js';
import { isLive } from './terminal.js';
import { withServerOf } from './up-here.js';

/** Its exit code is ours. */
export async function temporal(args: string[]): Promise<number> {
  const notices = createNotices();
  // Where it cannot be taken back, it would stand in front of every answer.
  const report = isLive(process.stderr) ? notices.passing : () => {};
  const { path } = await findServerBinary({ env: process.env, report })
    .catch((error: unknown) => {
      throw new CommandError(messageOf(error), EXIT.failed, error);
    })
    .finally(notices.clear);
  // Its own flags and environment win, and say all that ours would.
  const { given, connection } = withServerOf(findApplication({}).dataDir, serverSettings({}, process.env));
  const env = { ...process.env, ...(given === undefined ? { TEMPORAL_ADDRESS: connection.address } : {}) };
  // A Ctrl-C reaches both of us; how it ends is for the other one to say.
  process.on('SIGINT', () => {});
  const child = spawn(path, args, { stdio: 'inherit', env });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? EXIT.interrupted));
  });
}
