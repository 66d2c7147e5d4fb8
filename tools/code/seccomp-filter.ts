/**
 * The system calls that model code does not get, as a program for the kernel's seccomp: what could change namespaces
 * or mounts, look into other processes, take memory that no limit counts, or reach a network that is no namespace's
 * (vsock). Namespaces and limits are the boundary; this makes the kernel behind it smaller.
 *
 * F1  A refused call fails with EPERM; `clone3` with ENOSYS, so that the C library takes `clone`, whose flags can be
 *     read. A call of another architecture ends the process: its numbers mean something else.
 * F2  A socket is of the families unix, IPv4 and IPv6, which the network namespace holds; no others.
 */
import { constants } from 'node:os';

interface Architecture {
  /** `AUDIT_ARCH_…` of linux/audit.h. */
  audit: number;
  clone: number;
  socket: number;
}

const ARCHITECTURES = {
  x64: { audit: 0xc000003e, clone: 56, socket: 41 },
  arm64: { audit: 0xc00000b7, clone: 220, socket: 198 },
} as const satisfies Record<string, Architecture>;
type Machine = keyof typeof ARCHITECTURES;

/** What is refused, by its number on each machine. */
const REFUSED: Readonly<Record<string, Readonly<Record<Machine, number>>>> = {
  // Memory that outlives its process, or is in none.
  shmget: { x64: 29, arm64: 194 },
  semget: { x64: 64, arm64: 190 },
  msgget: { x64: 68, arm64: 186 },
  memfd_create: { x64: 319, arm64: 279 },
  memfd_secret: { x64: 447, arm64: 447 },
  // Other processes, and the kernel itself.
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  syslog: { x64: 103, arm64: 116 },
  perf_event_open: { x64: 298, arm64: 241 },
  bpf: { x64: 321, arm64: 280 },
  userfaultfd: { x64: 323, arm64: 282 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  // Namespaces and mounts.
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  chroot: { x64: 161, arm64: 51 },
  pivot_root: { x64: 155, arm64: 41 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  // Keyrings are in no namespace.
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
};
/** The same everywhere. */
const CLONE3 = 435;

/** All of CLONE_NEW*: a namespace of its own would give it back what was taken. */
const NEW_NAMESPACES = 0x7e020000;
/** Calls of the x32 ABI have this bit, under the audit code of x86-64. */
const X32_BIT = 0x40000000;
const FAMILIES = [1, 2, 10]; // AF_UNIX, AF_INET, AF_INET6

// linux/bpf_common.h and linux/seccomp.h
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_SET = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const FAIL = 0x00050000;
/** Where `struct seccomp_data` has what; the low half of the first argument. */
const AT_NUMBER = 0;
const AT_ARCHITECTURE = 4;
const AT_ARGUMENT = 16;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Undefined for a machine whose numbers are not known here. */
export function seccompFilter(machine: string = process.arch): Uint8Array | undefined {
  if (machine !== 'x64' && machine !== 'arm64') return undefined;
  const known = ARCHITECTURES[machine];
  const fail = (code: number): Instruction => [RETURN, 0, 0, FAIL | code];
  const refuse = fail(constants.errno.EPERM);
  const allow: Instruction = [RETURN, 0, 0, ALLOW];
  const program: Instruction[] = [
    [LOAD, 0, 0, AT_ARCHITECTURE],
    [JUMP_IF_EQUAL, 1, 0, known.audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, AT_NUMBER],
    ...when(JUMP_IF_SET, X32_BIT, refuse),
    ...when(JUMP_IF_EQUAL, CLONE3, fail(constants.errno.ENOSYS)),
    ...Object.values(REFUSED).flatMap((numbers) => when(JUMP_IF_EQUAL, numbers[machine], refuse)),
    ...when(JUMP_IF_EQUAL, known.clone, [LOAD, 0, 0, AT_ARGUMENT], ...when(JUMP_IF_SET, NEW_NAMESPACES, refuse)),
    [LOAD, 0, 0, AT_NUMBER],
    [JUMP_IF_EQUAL, 1, 0, known.socket],
    allow,
    [LOAD, 0, 0, AT_ARGUMENT],
    ...FAMILIES.flatMap((family) => when(JUMP_IF_EQUAL, family, allow)),
    fail(constants.errno.EAFNOSUPPORT),
  ];
  return bytesOf(program);
}

function when(condition: number, value: number, ...then: readonly Instruction[]): Instruction[] {
  return [[condition, 0, then.length, value], ...then];
}

/** `struct sock_filter`, in the byte order of both machines. */
function bytesOf(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  }
  return bytes;
}
