/** docker-compose.yml as Docker Compose reads it: merged, with its variables filled in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

export const root = join(import.meta.dirname, '../..');

const Words = z.array(z.string());
const Service = z.looseObject({
  image: z.string(),
  entrypoint: Words.optional(),
  command: Words.optional(),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  env_file: z.array(z.strictObject({ path: z.string(), required: z.boolean() })).default([]),
  healthcheck: z.looseObject({ test: Words }).optional(),
  volumes: Words.default([]),
  ports: Words.default([]),
  networks: Words.default(['default']),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
  restart: z.string(),
});
export type Service = z.infer<typeof Service>;

/** As the schema of the specification sees it. */
export function readCompose(env: Readonly<Record<string, string>>): unknown {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  return filled(parse(text, { merge: true }), env);
}

export function readServices(env: Readonly<Record<string, string>>): Readonly<Record<string, Service>> {
  return z.looseObject({ services: z.record(z.string(), Service) }).parse(readCompose(env)).services;
}

export function serviceOf(services: Readonly<Record<string, Service>>, name: string): Service {
  const service = services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
}

function filled(value: unknown, env: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return interpolate(value, env);
  if (Array.isArray(value)) return value.map((item: unknown) => filled(item, env));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner, env)]));
}

/** `${NAME:-default}`, `${NAME:?error}` and `$$`, which is all that the file uses; anything else is refused. */
function interpolate(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\$|\{(\w+):([-?])([^}]*)\}|)/g, (whole, name?: string, kind?: string, rest?: string) => {
    if (whole === '$$') return '$';
    if (name === undefined) throw new Error(`"${text}" has a variable of a form that this reader does not know`);
    const value = env[name] ?? '';
    if (value !== '') return value;
    if (kind === '?') throw new Error(`required variable ${name} is missing a value: ${rest}`);
    return rest ?? '';
  });
}
