/** One real Postgres server for all tests of the store. */
import type { TestProject } from 'vitest/node';
import { startPostgresIfPossible } from '../support/postgres.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Null where there is none. */
    postgresUrl: string | null;
    postgresCertificate: string;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const server = await startPostgresIfPossible((line) => process.stderr.write(`${line}\n`));
  project.provide('postgresUrl', server?.url ?? null);
  project.provide('postgresCertificate', server?.certificate ?? '');
  return server?.stop;
}
