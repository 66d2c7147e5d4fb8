/** The bundles that ship refuse events before their workflow task: `early-events.test.ts` shows what happens else. */
import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { describe, expect, it } from 'vitest';
import { EARLY_EVENTS } from '../../contract/names.js';
import { workflowBundlePath } from '../../worker/workflow-bundle.js';

type Activate = NonNullable<NonNullable<WorkflowInterceptors['internals']>[number]['activate']>;
type Input = Parameters<Activate>[0];

/** What the SDK reads from a bundle. */
interface Bundled {
  importInterceptors(): { interceptors?: () => WorkflowInterceptors }[];
}

/** The interceptors of one workflow, as the SDK finds them in the bundle. */
function activatesIn(bundle: string): Activate[] {
  // What the SDK gives its sandbox.
  const globals = { TextEncoder, TextDecoder, URL, URLSearchParams, AbortController };
  const context = createContext({ ...globals, __webpack_module_cache__: {} });
  runInContext(readFileSync(bundle, 'utf8'), context);
  const modules = (runInContext('__TEMPORAL__', context) as Bundled).importInterceptors();
  return modules.flatMap(({ interceptors }) =>
    (interceptors?.().internals ?? []).flatMap(({ activate }) => (activate === undefined ? [] : [activate])),
  );
}

interface At {
  length: number;
  time: number;
  jobs: object[];
  isReplaying?: boolean;
  batch?: number;
}

const begin = { initializeWorkflow: {} };
const result = { resolveActivity: {} };
const signal = { signalWorkflow: {} };
const update = { doUpdate: {} };
const query = { queryWorkflow: {} };

describe.each([
  ['plain', false],
  ['encrypting', true],
])('the %s bundle', (_what, encrypts) => {
  /** How many of the activations, one after another, are let through before one is refused. */
  function letThrough(...activations: At[]): number {
    const activates = activatesIn(workflowBundlePath({ encrypts }));
    let handled = 0;
    for (const { length, time, jobs, isReplaying = false, batch = 0 } of activations) {
      const activation = { historyLength: length, timestamp: { seconds: time, nanos: 0 }, isReplaying, jobs };
      const input = { activation, batchIndex: batch } as unknown as Input;
      const handle = activates.reduceRight<(given: Input) => void>(
        (next, activate) => (given) => activate(given, next as never),
        () => void (handled += 1),
      );
      try {
        handle(input);
      } catch (error) {
        expect(String(error)).toContain(EARLY_EVENTS);
        return handled;
      }
    }
    return handled;
  }

  it('refuses events of a task that has not begun', () => {
    const first = { length: 3, time: 1, jobs: [begin] };
    expect(letThrough(first, { length: 8, time: 1, jobs: [result] })).toBe(1);
    expect(letThrough({ ...first, isReplaying: true }, { length: 8, time: 1, jobs: [result, query] })).toBe(1);
  });

  it('refuses a second activation of one task', () => {
    const early = { length: 8, time: 2, jobs: [result] };
    const first = { length: 3, time: 1, jobs: [begin] };
    expect(letThrough(first, early, { length: 8, time: 2, jobs: [signal] })).toBe(2);
    expect(letThrough(first, early, { length: 8, time: 2, jobs: [update] })).toBe(2);
  });

  it('lets tasks through, replays, queries, and the batches of one activation', () => {
    expect(
      letThrough(
        { length: 3, time: 1, jobs: [begin], isReplaying: true },
        { length: 3, time: 1, jobs: [result], isReplaying: true, batch: 1 },
        { length: 8, time: 1, jobs: [result], isReplaying: true },
        { length: 8, time: 1, jobs: [query] },
        { length: 13, time: 4, jobs: [signal, result] },
        { length: 13, time: 4, jobs: [result], batch: 1 },
        { length: 20, time: 5, jobs: [update] },
        { length: 22, time: 5, jobs: [query] },
      ),
    ).toBe(8);
  });
});
