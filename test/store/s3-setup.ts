/** One real S3 server for the tests that want one. */
import type { TestProject } from 'vitest/node';
import { startS3IfPossible } from '../support/s3.js';
import type { S3Access } from '../support/s3.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Null where there is none. */
    s3: (S3Access & { folder: string }) | null;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const server = await startS3IfPossible((line) => process.stderr.write(`${line}\n`));
  if (server === undefined) {
    project.provide('s3', null);
    return undefined;
  }
  const { endpoint, accessKeyId, secretAccessKey, folder } = server;
  project.provide('s3', { endpoint, accessKeyId, secretAccessKey, folder });
  return server.stop;
}
