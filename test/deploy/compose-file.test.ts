/** docker-compose.yml against the Compose specification, and what it promises: no default secrets, little to reach. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { readCompose, readServices, root, serviceOf } from './compose-file.js';

const env = { POSTGRES_PASSWORD: 'a-secret-of-the-test' };
const compose = readCompose(env) as { services: Record<string, object>; volumes: object };
const services = readServices(env);
const specification = JSON.parse(
  readFileSync(join(root, 'test/deploy/compose-spec/compose-spec.json'), 'utf8'),
) as object;
const matches = new Ajv2020({ allErrors: true, strict: false }).compile(specification);

describe('docker-compose.yml', () => {
  it('follows the Compose specification', () => {
    expect(matches(compose), JSON.stringify(matches.errors, null, 1)).toBe(true);
  });

  it('would be refused with a field that the specification does not have', () => {
    const { gateway, ...others } = compose.services;
    expect(matches({ ...compose, services: { ...others, gateway: { ...gateway, helthcheck: {} } } })).toBe(false);
    expect(matches.errors).toEqual([expect.objectContaining({ params: { unevaluatedProperty: 'helthcheck' } })]);
  });

  it.each([{}, { POSTGRES_PASSWORD: '' }])(
    'is refused with %j: the password of the database has no default',
    (none) => {
      expect(() => readCompose(none)).toThrow('required variable POSTGRES_PASSWORD is missing a value');
    },
  );

  it('has the password of the database nowhere but where it is asked for', () => {
    const holders = Object.entries(services).filter(([, service]) =>
      JSON.stringify(service).includes(env.POSTGRES_PASSWORD),
    );
    expect(holders.map(([name]) => name)).toEqual(['postgres', 'temporal-schema', 'temporal']);
  });

  it('offers an example of .env that sets no secret', () => {
    const example = readFileSync(join(root, '.env.example'), 'utf8');
    const set = example.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(set).toEqual(['POSTGRES_PASSWORD=']);
    const variables = readFileSync(join(root, 'docker-compose.yml'), 'utf8').matchAll(/\$\{(\w+)/g);
    for (const [, name] of variables) expect(example).toMatch(new RegExp(`^(# )?${name}=`, 'm'));
  });

  it('publishes the gateway and the UI, on loopback, and nothing else', () => {
    const published = Object.entries(services).flatMap(([name, { ports }]) => ports.map((port) => `${name} ${port}`));
    expect(published).toEqual(['temporal-ui 127.0.0.1:8233:8080', 'gateway 127.0.0.1:2700:2700']);
  });

  it('keeps the database to Temporal', () => {
    const reaching = Object.entries(services).filter(([, { networks }]) => networks.includes('database'));
    expect(reaching.map(([name]) => name)).toEqual(['postgres', 'temporal-schema', 'temporal']);
  });

  it('pins Temporal to one version of server and tools, 1.30.4 or later, and nothing to "latest"', () => {
    const images = Object.values(services).map(({ image }) => image);
    for (const image of images) expect(image).toMatch(/:(?!latest$)[^:]+$/);
    const versions = images.flatMap((image) => /^temporalio\/(?:server|admin-tools):(.*)$/.exec(image)?.[1] ?? []);
    expect(new Set(versions).size).toBe(1);
    const [major = 0, minor = 0, patch = 0] = (versions[0] ?? '').split('.').map(Number);
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(1_030_004);
  });

  it('starts what it starts after what that needs, waits for health only where there is a check, and starts it again', () => {
    for (const [name, { depends_on, restart }] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const { healthcheck, restart: itsRestart } = serviceOf(services, other);
        if (condition === 'service_healthy') expect(healthcheck, `${name} waits for ${other}`).toBeDefined();
        // A job ends; what is started again for ever never completes.
        else expect([other, itsRestart]).toEqual([other, 'on-failure:5']);
      }
      expect(restart).toMatch(/^(unless-stopped|on-failure:5)$/);
    }
  });

  it('keeps what must outlive a container in named volumes, which worker and gateway share', () => {
    expect(Object.keys(compose.volumes)).toEqual(['postgres', 'data']);
    for (const name of ['worker', 'gateway']) expect(serviceOf(services, name).volumes).toContain('data:/data');
    expect(serviceOf(services, 'postgres').volumes).toEqual(['postgres:/var/lib/postgresql/data']);
  });

  it.each(['worker', 'gateway'])('gives the %s no privilege and nothing to write but its volume', (name) => {
    expect(compose.services[name]).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      init: true,
    });
  });
});
