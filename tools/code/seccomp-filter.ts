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
  refused: readonly number[];
}

/** Numbers that are the same everywhere: io_uring, the mount calls since Linux 5.2, memfd_secret. */
const SINCE_UNIFIED = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 447];
const CLONE3 = 435;

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    socket: 41,
    refused: [
      [29, 64, 68], // shmget, semget, msgget: memory that outlives its process
      319, // memfd_create: memory that is in no process
      [101, 310, 311], // ptrace, process_vm_readv, process_vm_writev
      103, // syslog: the kernel's log
      [155, 161, 165, 166, 272, 308], // pivot_root, chroot, mount, umount2, unshare, setns
      [175, 176, 246, 313, 320], // init_module, delete_module, kexec_load, finit_module, kexec_file_load
      [248, 249, 250], // add_key, request_key, keyctl: keyrings are in no namespace
      [298, 303, 304, 321, 323], // perf_event_open, name_to_handle_at, open_by_handle_at, bpf, userfaultfd
      ...SINCE_UNIFIED,
    ].flat(),
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    socket: 198,
    refused: [
      [194, 190, 186],
      279,
      [117, 270, 271],
      116,
      [41, 51, 40, 39, 97, 268],
      [105, 106, 104, 273, 294],
      [217, 218, 219],
      [241, 264, 265, 280, 282],
      ...SINCE_UNIFIED,
    ].flat(),
  },
};

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
  const known = ARCHITECTURES[machine];
  if (known === undefined) return undefined;
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
    ...known.refused.flatMap((number) => when(JUMP_IF_EQUAL, number, refuse)),
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
