/** The sandbox by bubblewrap. */
import { HOST_NAME, INNER_UID, WORK_FOLDER } from './sandbox-layout.js';
import type { BoundPath, Launcher, Layout } from './sandbox-layout.js';
import { DEVICES } from './system-paths.js';

export function launchBubblewrap(layout: Layout, supervisor: readonly string[]): Launcher {
  const { system, own, links, writable, isRoot } = layout;
  return {
    command: 'bwrap',
    args: [
      '--unshare-ipc',
      '--unshare-pid',
      '--unshare-net',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--die-with-parent',
      '--as-pid-1',
      '--new-session',
      '--clearenv',
      ...flags(['--hostname', HOST_NAME]),
      // Root becomes another user inside, and for that keeps two capabilities until then.
      ...(isRoot
        ? flags(['--cap-drop', 'ALL'], ['--cap-add', 'CAP_SETUID'], ['--cap-add', 'CAP_SETGID'])
        : flags(['--unshare-user'], ['--uid', String(INNER_UID)], ['--gid', String(INNER_UID)])),
      ...readOnly(system),
      ...links.flatMap(({ path, target }) => ['--symlink', target, path]),
      ...flags(['--proc', '/proc'], ['--tmpfs', '/dev']),
      ...DEVICES.flatMap((path) => ['--dev-bind', path, path]),
      ...flags(['--symlink', '/proc/self/fd', '/dev/fd']),
      ...writable.flatMap(({ path, bytes }) => ['--perms', '1777', '--size', String(bytes), '--tmpfs', path]),
      ...readOnly(own),
      // Both are in memory without a limit, and would be a place to write to.
      ...flags(['--remount-ro', '/dev'], ['--remount-ro', '/'], ['--chdir', WORK_FOLDER]),
      '--',
      ...supervisor,
    ],
  };
}

function flags(...each: readonly (readonly string[])[]): string[] {
  return each.flat();
}

/** With the folders above them, since those that bubblewrap makes by itself are closed to other users. */
function readOnly(paths: readonly BoundPath[]): string[] {
  const parents = new Set(paths.flatMap(({ path }) => foldersAbove(path)));
  return [
    ...[...parents].flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...paths.flatMap(({ path }) => ['--ro-bind', path, path]),
  ];
}

/** The outermost first. */
function foldersAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`);
}
