/** A server of which a test says what it knows of one workflow: its history, whether a task is pending, what a worker answers. */
import type { Client } from '@temporalio/client';

/** The last event of a workflow task, and who did it. The event before it is the task's start. */
export type FakeEnd = { completed: string } | { failed: true } | { timedOut: true };

export interface FakeServer {
  client: Client;
  /** Events from the first on; a task is two, its start and its end. Returns the number of the start. */
  addTask(end?: FakeEnd): number;
  /** Ends the task whose start is the last event. */
  endTask(end: FakeEnd): void;
  /** Something that no task has handled. */
  addSignal(): void;
  isOpen: boolean;
  historyBytes: number;
  /** As `describe` says it. */
  hasTask: boolean;
  /** Answers of workers, one for each query; the last one for all that come after. */
  answers: ((n: number) => unknown)[];
  asked: { queries: number; describes: number; pages: { size: number; token: number }[] };
  /** How long each of the queries may take. */
  limits: number[];
  /** Throws where it wants to: before each page of history. */
  beforePage: (size: number) => void;
}

type Event = { eventId: number } & Record<string, unknown>;

export function createFakeServer(workflowId = 'run-1'): FakeServer {
  const events: Event[] = [{ eventId: 1, workflowExecutionStartedEventAttributes: {} }];
  const add = (attributes: Record<string, unknown>) => events.push({ eventId: events.length + 1, ...attributes });
  const asked: FakeServer['asked'] = { queries: 0, describes: 0, pages: [] };

  let limit = 0;
  const handle = {
    async describe() {
      asked.describes += 1;
      return {
        workflowId,
        runId: 'execution-1',
        status: { name: server.isOpen ? 'RUNNING' : 'COMPLETED' },
        historyLength: events.length,
        historySize: server.historyBytes,
        raw: { workflowExecutionInfo: {}, pendingWorkflowTask: server.hasTask ? {} : null },
      };
    },
    async query() {
      asked.queries += 1;
      server.limits.push(limit);
      const answer = server.answers[Math.min(asked.queries, server.answers.length) - 1];
      return answer?.(asked.queries);
    },
  };
  const service = {
    async getWorkflowExecutionHistoryReverse(request: { maximumPageSize: number; nextPageToken?: Uint8Array }) {
      const size = request.maximumPageSize;
      // A batch is one event here, and a token the number of events that were given.
      const given = request.nextPageToken?.[0] ?? 0;
      asked.pages.push({ size, token: given });
      server.beforePage(size);
      const page = [...events].reverse().slice(given, given + size);
      const isLast = given + size >= events.length;
      return { history: { events: page }, nextPageToken: new Uint8Array(isLast ? [] : [given + size]) };
    },
  };
  const server: FakeServer = {
    client: {
      options: { namespace: 'default' },
      withDeadline<T>(at: number, ask: () => Promise<T>) {
        limit = at - Date.now();
        return ask();
      },
      workflow: { getHandle: () => handle },
      workflowService: service,
    } as unknown as Client,
    addTask(end) {
      add({ workflowTaskStartedEventAttributes: {} });
      const started = events.length;
      if (end !== undefined) server.endTask(end);
      return started;
    },
    endTask(end) {
      const startedEventId = events.length;
      if ('completed' in end)
        add({ workflowTaskCompletedEventAttributes: { startedEventId, identity: end.completed } });
      else if ('failed' in end) add({ workflowTaskFailedEventAttributes: { startedEventId } });
      else add({ workflowTaskTimedOutEventAttributes: { startedEventId } });
    },
    addSignal: () => void add({ workflowExecutionSignaledEventAttributes: {} }),
    isOpen: true,
    historyBytes: 0,
    hasTask: false,
    answers: [],
    asked,
    limits: [],
    beforePage: () => {},
  };
  return server;
}
