/**
 * A service of docker-compose.yml as a process: the image's entrypoint and environment, the service's command and
 * environment, and nothing of the environment of the tests. What differs from a container is all in `Machine`.
 */
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { watchCommand } from '../cli/command.js';
import type { Command } from '../cli/command.js';
import type { Service } from './compose-file.js';
import type { Image } from './dockerfile.js';

/** Names and places inside the containers, and what stands for them on this machine. */
export interface Machine {
  /** `temporal:7233` */
  readonly temporal: string;
  /** `/data`, the volume that worker and gateway share */
  readonly data: string;
  /** `/app/application`, where the application is mounted */
  readonly application: string;
  /** `/app`, the image's folder */
  readonly app: string;
  /** 2700, the gateway's port */
  readonly port: number;
}

export function onMachine(text: string, machine: Machine): string {
  return text
    .replace(/^temporal:7233$/, machine.temporal)
    .replace(/^\/data(?=\/|$)/, machine.data)
    .replace(/^\/app\/application(?=\/|$)/, machine.application)
    .replace(/^\/app(?=\/|$)/, machine.app)
    .replace(/\b2700\b/, String(machine.port));
}

/** `command` instead of the service's own is what `docker compose run` does with its arguments. */
export function startService(image: Image, service: Service, machine: Machine, command = service.command): Command {
  return start([...image.entrypoint, ...(command ?? [])], image, service, machine);
}

/** As it stands in the file; it ends with 0 where the service is healthy. */
export function startHealthCheck(image: Image, service: Service, machine: Machine): Command {
  const [kind, ...words] = service.healthcheck?.test ?? [];
  if (kind !== 'CMD') throw new Error(`the health check is no CMD: ${String(kind)}`);
  return start(words, image, service, machine);
}

function start(words: readonly string[], image: Image, service: Service, machine: Machine): Command {
  const [program, ...args] = words.map((word) => onMachine(word, machine));
  if (program !== 'node') throw new Error(`only node is there in the image and here, not ${String(program)}`);
  const environment = Object.entries({ ...image.env, ...service.environment });
  return watchCommand(
    spawn(process.execPath, args, {
      cwd: onMachine(image.workdir, machine),
      env: {
        PATH: dirname(process.execPath),
        ...Object.fromEntries(environment.map(([name, value]) => [name, onMachine(String(value), machine)])),
      },
    }),
  );
}
