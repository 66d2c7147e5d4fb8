/** How workers know of each other. */
import { randomUUID } from 'node:crypto';

/** A call that a worker runs. */
export interface OpenCall {
  workflowId: string;
  /** The engine's id of the execution. */
  runId: string;
  activityId: string;
  attempt: number;
  /** No other attempt would follow. */
  isLast: boolean;
}

/** A worker, as it shows itself to its peers. */
export interface Presence {
  began(call: OpenCall): void;
  ended(call: OpenCall): void;
  /** A moment ago it was seen. */
  isSeen(): boolean;
  /** It goes without being missed. */
  stop(): Promise<void>;
}

/** One that has shown no sign of life for a while, and whose connection is gone. */
export interface SilentPeer {
  readonly worker: string;
  calls(): Promise<OpenCall[]>;
  /** Whether it is still silent. */
  isSilent(): Promise<boolean>;
  /** True for one of those who ask: that one sees to it. */
  take(): Promise<boolean>;
  /** Lets others see to it. */
  leave(): Promise<void>;
  /** It was seen to. */
  forget(): Promise<void>;
}

/** As one process shows itself: another one after it, in the same container, may be called the same. */
export function presenceName(processName: string): string {
  return `${processName} ${randomUUID().slice(0, 8)}`;
}

/** Whether it is by this identity that the server knows the worker: one of a process may replace another. */
export function isIdentityOf(worker: string, identity: string): boolean {
  const processName = worker.slice(0, worker.lastIndexOf(' '));
  return identity === processName || identity.startsWith(`${processName}#`);
}
