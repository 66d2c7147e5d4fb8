/**
 * Which boundary this machine has. Each is tried as it will be used, with a program that looks around: a boundary that
 * cannot be built, or that does not hold what it should, is none.
 */
import { launchBubblewrap } from './bubblewrap.js';
import type { CodeLimits } from './code-limits.js';
import { findPython } from './find-python.js';
import type { Python } from './find-python.js';
import { runSandboxed } from './run-sandboxed.js';
import type { Sandbox } from './run-sandboxed.js';
import { freshUid } from './fresh-uid.js';
import { layOut } from './sandbox-layout.js';
import type { Launch } from './sandbox-layout.js';
import { seccompFilter } from './seccomp-filter.js';
import { launchUnshare } from './unshare.js';

export const NO_BOUNDARY = 'none_i_accept_that_model_code_runs_as_this_user';

/** By default the first that this machine has. */
export type BoundaryChoice = 'bubblewrap' | 'unshare' | typeof NO_BOUNDARY;

const BOUNDARIES: Readonly<Record<'bubblewrap' | 'unshare', Launch>> = {
  bubblewrap: launchBubblewrap,
  unshare: launchUnshare,
};

/** Throws where there is no boundary, and says what to do. */
export async function findSandbox(
  command: string,
  limits: CodeLimits,
  choice: BoundaryChoice | undefined,
): Promise<Sandbox> {
  const filter = process.platform === 'linux' ? seccompFilter() : undefined;
  if (filter === undefined)
    throw refusal([`it needs Linux on x64 or arm64, and this is ${process.platform} on ${process.arch}`]);
  const python = await findPython(command).catch((cause: unknown) => {
    throw refusal([`"${command}" is no Python that can be run: ${messageOf(cause)}`]);
  });
  const base = { python, limits, filter };
  if (choice === NO_BOUNDARY) return { ...base, boundary: 'none', launch: plain, uid: () => Promise.resolve(null) };
  const reasons: string[] = [];
  for (const name of choice === undefined ? (['bubblewrap', 'unshare'] as const) : [choice]) {
    try {
      const sandbox = await build(name, base);
      await probe(sandbox);
      return sandbox;
    } catch (error) {
      reasons.push(`${name}: ${messageOf(error)}`);
    }
  }
  throw refusal(reasons);
}

async function build(
  boundary: 'bubblewrap' | 'unshare',
  base: { python: Python; limits: CodeLimits; filter: Uint8Array },
): Promise<Sandbox> {
  const layout = await layOut(base.python, base.limits.file_bytes);
  return {
    ...base,
    boundary,
    launch: (supervisor) => BOUNDARIES[boundary](layout, supervisor),
    uid: async () => (layout.isRoot ? freshUid() : null),
  };
}

function plain([command = '', ...args]: readonly string[]) {
  return { command, args };
}

/** What must be so inside, in Python: each line is a name and a fact. */
const PROBE = `
import os, subprocess
status = {name: value.strip() for name, _, value in (line.partition(":") for line in open("/proc/self/status"))}
interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
facts = {
    "it is not root": os.getuid() != 0 and os.getgid() != 0,
    "it has no capabilities": int(status["CapPrm"], 16) == 0 and int(status["CapEff"], 16) == 0,
    "it can gain none": status["NoNewPrivs"] == "1",
    "system calls are filtered": status["Seccomp"] == "2",
    "it sees its own processes only": os.getppid() == 1 and len([p for p in os.listdir("/proc") if p.isdigit()]) == 2,
    "it has no network": set(interfaces) <= {"lo"},
    "it can start a process": subprocess.run(["/bin/sh", "-c", "exit 7"]).returncode == 7,
    "it can write into its folder only": os.access(".", os.W_OK) and not os.access("/", os.W_OK),
}
print(*[name for name, fact in facts.items() if not fact], sep="; ")
`;
const PROBE_LIMIT_MS = 60_000;

async function probe(sandbox: Sandbox): Promise<void> {
  const signal = AbortSignal.timeout(PROBE_LIMIT_MS);
  const { end, output } = await runSandboxed(sandbox, PROBE, { signal });
  if (end.why !== null || end.exit !== 0)
    throw new Error(
      `a first program did not run (${end.trouble || (end.why ?? `code ${end.exit}`)}): ${output.trim()}`,
    );
  if (output.trim() !== '') throw new Error(`this does not hold in it: ${output.trim()}`);
}

function refusal(reasons: readonly string[]): Error {
  return new Error(
    `the code interpreter cannot be enabled, since model code would not run behind a boundary of the kernel: ${reasons.join('; ')}. ` +
      'Install bubblewrap ("apt install bubblewrap") and let this user make user namespaces (sysctl user.max_user_namespaces, ' +
      'kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile), ' +
      `or leave the tool out. boundary: "${NO_BOUNDARY}" does what it says`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
