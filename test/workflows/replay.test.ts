/**
 * Recorded histories, replayed against today's workflows: a change of their commands without `patched()` is red here, and
 * so is a run that comes to another end than it had.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import type { InjectedSinks } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import type { RunOutput } from '../../contract/run.js';
import type { RunSinks } from '../../contract/sinks.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { workflowBundlePath } from '../../worker/workflow-bundle.js';

installRuntimeLog(() => {});
const folder = new URL('histories/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));

interface Payloads {
  payloads?: { data: string }[];
}
interface Failed {
  failure?: { applicationFailureInfo?: { details?: Payloads } };
}
interface RecordedHistory {
  events: {
    workflowExecutionStartedEventAttributes?: { workflowId: string; workflowType: { name: string } };
    workflowExecutionCompletedEventAttributes?: { result?: Payloads };
    workflowExecutionCanceledEventAttributes?: { details?: Payloads };
    workflowExecutionFailedEventAttributes?: Failed;
  }[];
}

const OUTCOME = ['status', 'phase', 'answer', 'failure', 'cancellation'];
const read = (file: string) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as RecordedHistory;

/** Under its own id: those of its children are made of it. The last event of the log that it writes. */
async function replay(history: RecordedHistory): Promise<DurableEvent | undefined> {
  const id = history.events[0]?.workflowExecutionStartedEventAttributes?.workflowId;
  let last: DurableEvent | undefined;
  const sinks: InjectedSinks<RunSinks> = {
    perdure: {
      appended: {
        fn: (_info, _runId, _task, _seq, text) => void (last = JSON.parse(text) as DurableEvent),
        callDuringReplay: true,
      },
      interrupted: { fn: () => {} },
    },
  };
  await Worker.runReplayHistory({ workflowBundle: { codePath: workflowBundlePath() }, sinks }, history, id);
  return last;
}

/** What a run gave back when it ended, however it did; undefined where this part of it has no end. */
function outputOf({ events }: RecordedHistory): RunOutput | undefined {
  if (events[0]?.workflowExecutionStartedEventAttributes?.workflowType.name !== 'agentRun') return undefined;
  const last = events.at(-1);
  const { payloads } =
    last?.workflowExecutionCompletedEventAttributes?.result ??
    last?.workflowExecutionCanceledEventAttributes?.details ??
    last?.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo?.details ??
    {};
  const [payload] = payloads ?? [];
  return payload === undefined
    ? undefined
    : (JSON.parse(Buffer.from(payload.data, 'base64').toString('utf8')) as RunOutput);
}

describe('recorded histories replay', () => {
  it('there are some', () => expect(files.length).toBeGreaterThan(0));
  it('most of those of runs have an end', () => {
    const ended = files.filter((file) => outputOf(read(file)) !== undefined);
    expect(ended.length).toBeGreaterThan(files.length / 2);
  });

  for (const file of files) {
    it(file, async () => {
      const history = read(file);
      const last = await replay(history);
      const output = outputOf(history);
      if (output === undefined) return;
      // What it used is counted in another way since 0.3.
      const end = OUTCOME.flatMap((field) => (field in output ? [[field, output[field as keyof RunOutput]]] : []));
      expect(last).toMatchObject({ type: 'run_completed', ...(Object.fromEntries(end) as object) });
    });
  }

  it('a history that asks for other commands is refused', async () => {
    const text = readFileSync(new URL(files[0] ?? '', folder), 'utf8');
    const other = JSON.parse(text.replaceAll('"resolveRun"', '"resolveSomethingElse"')) as RecordedHistory;
    await expect(replay(other)).rejects.toThrow(/nondeterminism|Nondeterminism|does not match/i);
  });
});
