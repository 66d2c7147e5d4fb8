/** What a program may use, as an operator sets it and as the sandbox keeps it. */
import { parseDuration } from '../../contract/durations.js';
import { PerdureError } from '../../contract/errors.js';

export interface CodeLimitOptions {
  /** From start to end; 60 s by default. Durations: milliseconds or like "30s". */
  wall_time?: number | string;
  /** Of each process; 30 s by default. */
  cpu_time?: number | string;
  /** Of all processes together; 512 MiB by default. Files are in memory too, and counted by themselves. */
  memory_bytes?: number;
  /** Processes and threads at the same time; 32 by default. */
  processes?: number;
  /** How much of what is printed is kept; 1 MiB by default. */
  output_bytes?: number;
  /** Files that may come back; 32 by default. */
  files?: number;
  /** All files together; 32 MiB by default. */
  file_bytes?: number;
}

export interface CodeLimits {
  wall_seconds: number;
  cpu_seconds: number;
  memory_bytes: number;
  processes: number;
  output_bytes: number;
  files: number;
  file_bytes: number;
}

const MIB = 1024 * 1024;

export function codeLimits(options: CodeLimitOptions = {}): CodeLimits {
  const problems: string[] = [];
  const seconds = (field: 'wall_time' | 'cpu_time', fallback: number): number => {
    const milliseconds = parseDuration(options[field] ?? fallback);
    if (milliseconds === undefined || milliseconds < 1_000)
      problems.push(`limits.${field} "${options[field]}" is no duration of a second or more`);
    return (milliseconds ?? fallback) / 1_000;
  };
  const count = (field: Exclude<keyof CodeLimitOptions, 'wall_time' | 'cpu_time'>, fallback: number, least: number) => {
    const value = options[field] ?? fallback;
    if (!Number.isSafeInteger(value) || value < least)
      problems.push(`limits.${field} ${value} is no whole number of at least ${least}`);
    return value;
  };
  const limits: CodeLimits = {
    wall_seconds: seconds('wall_time', 60_000),
    // The kernel counts whole seconds.
    cpu_seconds: Math.ceil(seconds('cpu_time', 30_000)),
    memory_bytes: count('memory_bytes', 512 * MIB, 64 * MIB),
    processes: count('processes', 32, 2),
    output_bytes: count('output_bytes', MIB, 1),
    files: count('files', 32, 0),
    file_bytes: count('file_bytes', 32 * MIB, 64 * 1024),
  };
  if (problems.length > 0) throw new PerdureError('invalid_config', `codeInterpreter(): ${problems.join('; ')}`);
  return limits;
}

/** For libraries, which are mapped and hardly ever touched. */
const MAPPED_BYTES = 2 * 1024 * MIB;

/** Soft and hard, by the names of Python's `resource`. */
export function resourceLimits(limits: CodeLimits, isCounted: boolean): Record<string, [number, number]> {
  const both = (value: number): [number, number] => [value, value];
  return {
    // The soft limit's signal tells what happened; who ignores it is killed by the hard one.
    RLIMIT_CPU: [limits.cpu_seconds, limits.cpu_seconds + 1],
    RLIMIT_DATA: both(limits.memory_bytes),
    RLIMIT_AS: both(limits.memory_bytes + MAPPED_BYTES),
    RLIMIT_FSIZE: both(limits.file_bytes),
    RLIMIT_NOFILE: both(256),
    RLIMIT_CORE: both(0),
    RLIMIT_MSGQUEUE: both(0),
    RLIMIT_MEMLOCK: both(0),
    // Counted per user, and the supervisor is one of them; without a user of its own it would count the worker's.
    ...(isCounted ? { RLIMIT_NPROC: both(limits.processes + 1) } : {}),
  };
}
