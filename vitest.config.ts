import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: true,
    maxWorkers: 2,
    reporters: ['default', './test/summary-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: ['test/usual-ports/**', 'test/store/**'],
          globalSetup: ['test/global-setup.ts'],
        },
      },
      {
        // With a Postgres server beside the files of SQLite, and an S3 server beside files.
        extends: true,
        test: {
          name: 'store',
          include: ['test/store/**/*.test.ts'],
          globalSetup: ['test/store/postgres-setup.ts', 'test/store/s3-setup.ts'],
        },
      },
      {
        // Once more with a workflow cache of one: every task of a run replays its history from the first event.
        extends: true,
        test: {
          name: 'cache-of-one',
          include: [
            'test/workflows/{phases,caps,cancel,failures}.test.ts',
            'test/client/streams.test.ts',
            'test/threads/turns.test.ts',
          ],
          globalSetup: ['test/global-setup.ts'],
          env: { PERDURE_TEST_WORKFLOW_CACHE: '1' },
        },
      },
      {
        // After all others, one by one: a server in the usual place would be found by the commands of other tests.
        extends: true,
        test: {
          name: 'usual-ports',
          include: ['test/usual-ports/**/*.test.ts'],
          globalSetup: ['test/usual-ports/setup.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
