/**
 * Prints `N passed, N failed` as the last line of a test run, whatever else is printed.
 *
 * R1  A test that did not finish has failed, and so have a file that does not load, a hook that throws, an error that
 *     nobody caught and a global set-up that throws.
 * R2  The line is written when the process ends, since tear-downs and other reporters speak after the last test.
 * R3  A run whose exit code is not zero never says `0 failed`.
 */
import type { Reporter, TestModule, TestSuite, Vitest } from 'vitest/node';

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

export default class SummaryReporter implements Reporter {
  private count: Count | undefined;

  onInit(vitest: Vitest): void {
    if (vitest.config.watch) return;
    process.once('exit', (exitCode) => {
      const count = this.count ?? { passed: 0, failed: 0, skipped: 0 };
      if (exitCode !== 0 && count.failed === 0) count.failed = 1;
      process.stdout.write(`${summaryLine(count)}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) countModule(module, count);
    this.count = count;
  }
}

function countModule(module: TestModule, count: Count): void {
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    count[state === 'pending' ? 'failed' : state] += 1;
  }
  const groups: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  count.failed += groups.filter((group) => group.errors().length > 0).length;
}

function summaryLine({ passed, failed, skipped }: Count): string {
  const skippedToo = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${passed} passed, ${failed} failed${skippedToo}`;
}
