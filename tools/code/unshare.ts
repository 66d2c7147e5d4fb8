/**
 * The sandbox by util-linux: `unshare` makes the namespaces, and a shell in them builds a file system in memory, turns
 * it into the root and lets go of the machine's.
 *
 * Where the worker is root, a slip in here could write to the machine. So:
 * U1  The machine's root is read-only, in this namespace, before anything else happens.
 * U2  All that is created is created before anything of the machine is mounted below the new root.
 * U3  What of the machine is mounted there is made read-only at once, and nothing is written over (`set -C`).
 */
import { HOST_NAME, INNER_UID, MOST_INODES, WORK_FOLDER } from './sandbox-layout.js';
import type { BoundPath, Launcher, Layout } from './sandbox-layout.js';
import { DEVICES } from './system-paths.js';

export function launchUnshare(layout: Layout, supervisor: readonly string[]): Launcher {
  const { isRoot } = layout;
  const namespaces = ['--mount', '--pid', '--net', '--ipc', '--uts', '--cgroup', '--propagation', 'private'];
  const user = isRoot ? [] : ['--user', '--map-root-user'];
  // Only root of a namespace can mount. A second one below it is nobody, to whom the mounts are not his own.
  const inner = isRoot ? [] : ['unshare', '--user', `--map-user=${INNER_UID}`, `--map-group=${INNER_UID}`];
  const script = buildScript(layout);
  return {
    command: 'unshare',
    args: [...user, ...namespaces, '--fork', '--kill-child', '/bin/sh', '-c', script, 'sh', ...inner, ...supervisor],
  };
}

/** `/tmp` is a place that every machine has; what is in it can be seen again once it is no longer covered. */
const NEW_ROOT = '/tmp';
const OLD_ROOT = '/.old';

function buildScript({ system, own, links, writable, isRoot }: Layout): string {
  const devices = DEVICES.map((path) => ({ path, isFolder: false }));
  return [
    'set -eC',
    'umask 022',
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    ...(isRoot ? ['mount -o remount,bind,ro /'] : []),
    // Not every machine has the command, and the name is no secret that a boundary depends on.
    `hostname ${HOST_NAME} 2> /dev/null || :`,
    `mount -t tmpfs -o size=1m,nr_inodes=${MOST_INODES},mode=755,nosuid tmpfs ${NEW_ROOT}`,
    `mkdir ${NEW_ROOT}${OLD_ROOT} ${NEW_ROOT}/proc ${NEW_ROOT}/dev`,
    ...writable.flatMap(({ path, bytes }) => [
      `mkdir -p ${NEW_ROOT}${path}`,
      `mount -t tmpfs -o size=${bytes},nr_inodes=${MOST_INODES},mode=1777,nosuid,nodev tmpfs ${NEW_ROOT}${path}`,
    ]),
    ...[...system, ...own, ...devices].flatMap(mountPoint),
    ...links.map(({ path, target }) => `ln -s ${quote(target)} ${quote(NEW_ROOT + path)}`),
    `ln -s /proc/self/fd ${NEW_ROOT}/dev/fd`,
    ...DEVICES.map((path) => `mount --bind ${path} ${NEW_ROOT}${path}`),
    ...system.flatMap(({ path }) => bind(path, NEW_ROOT + path)),
    `mount -t proc -o nosuid,nodev,noexec proc ${NEW_ROOT}/proc`,
    `cd ${NEW_ROOT}`,
    `pivot_root . .${OLD_ROOT}`,
    'cd /',
    ...own.flatMap(({ path }) => bind(OLD_ROOT + path, path)),
    `umount -l ${OLD_ROOT}`,
    `rmdir ${OLD_ROOT}`,
    'mount -o remount,bind,ro,nosuid /',
    `cd ${WORK_FOLDER}`,
    'exec "$@"',
  ].join('\n');
}

function mountPoint({ path, isFolder }: BoundPath): string[] {
  const target = NEW_ROOT + path;
  if (isFolder) return [`mkdir -p ${quote(target)}`];
  return [`mkdir -p ${quote(target.slice(0, target.lastIndexOf('/')))}`, `: > ${quote(target)}`];
}

function bind(from: string, to: string): string[] {
  return [`mount --rbind ${quote(from)} ${quote(to)}`, `mount -o remount,bind,ro,nosuid,nodev ${quote(to)}`];
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
