/** The description of the routes. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { describeRoutes } from '../../gateway/openapi.js';
import { ROUTES } from '../../gateway/routes/table.js';

interface Description {
  openapi: string;
  paths: Record<
    string,
    Record<string, { operationId: string; responses: Record<string, unknown>; security?: unknown }>
  >;
  components: { schemas: Record<string, { required?: string[]; properties?: Record<string, unknown> }> };
  security: unknown[];
}

const description = describeRoutes(ROUTES, true) as Description;

describe('the description', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone({ ...description }));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(description.openapi).toBe('3.1.0');
  });

  it('has every route, with its answers and its errors', () => {
    for (const { method, path, operation, replies, access } of ROUTES) {
      const described = description.paths[path]?.[method.toLowerCase()];
      expect(described?.operationId).toBe(operation);
      expect(Object.keys(described?.responses ?? {})).toEqual(expect.arrayContaining(Object.keys(replies)));
      expect(Object.keys(described?.responses ?? {})).toContain('500');
      if (access !== 'open') expect(Object.keys(described?.responses ?? {})).toContain('401');
      expect(described?.security).toEqual(access === 'open' ? [] : undefined);
    }
    expect(new Set(ROUTES.map(({ operation }) => operation)).size).toBe(ROUTES.length);
  });

  it('has no reference that leads nowhere', () => {
    const references = [...JSON.stringify(description).matchAll(/"\$ref":"([^"]*)"/g)].map(([, to]) => to);
    expect(references.length).toBeGreaterThan(10);
    const known = Object.keys(description.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references.filter((to) => !known.includes(to ?? ''))).toEqual([]);
  });

  it('says of a request what is checked, and nothing that only the runtime sets', () => {
    const { required, properties } = description.components.schemas['StartRequest'] ?? {};
    expect(required?.toSorted()).toEqual(['agent_id', 'input']);
    expect(Object.keys(properties ?? {})).toContain('client_tools');
    expect(Object.keys(properties ?? {})).not.toContain('parent');
  });

  it('asks for no credential where auth is off', () => {
    expect((describeRoutes(ROUTES, false) as Description).security).toEqual([]);
    expect(description.security).toEqual([{ bearer: [] }]);
  });
});
