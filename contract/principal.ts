/**
 * For whom a run works. Pinned with it when it starts; its children, and the turns of a thread, inherit it. Whoever acts
 * for many tenants decides by it. No zod here.
 */

export interface Principal {
  /** Absent: the run was started without one, as in development. */
  org_id?: string;
  user_id?: string;
  roles: readonly string[];
}

/** What functions of an application are told of the run beside their own input. */
export interface Caller {
  principal: Principal;
  /** As the request brought it. */
  metadata: Readonly<Record<string, unknown>>;
}

export function isPrincipal(value: unknown): value is Principal {
  if (typeof value !== 'object' || value === null) return false;
  const { org_id, user_id, roles } = value as Record<string, unknown>;
  const isText = (field: unknown) => field === undefined || typeof field === 'string';
  return isText(org_id) && isText(user_id) && Array.isArray(roles) && roles.every((role) => typeof role === 'string');
}

interface Asked {
  org_id?: string | undefined;
  created_by?: string | undefined;
  roles?: string[] | undefined;
  metadata?: Record<string, unknown> | undefined;
}

export function callerOf({ org_id, created_by, roles = [], metadata = {} }: Asked): Caller {
  return {
    principal: {
      ...(org_id === undefined ? {} : { org_id }),
      ...(created_by === undefined ? {} : { user_id: created_by }),
      roles,
    },
    metadata,
  };
}

/** What a request hands on to the runs that work for the same. */
export function inherited({ org_id, created_by, roles, metadata }: Asked): {
  org_id?: string;
  created_by?: string;
  roles?: string[];
  metadata?: Record<string, unknown>;
} {
  return {
    ...(org_id === undefined ? {} : { org_id }),
    ...(created_by === undefined ? {} : { created_by }),
    ...(roles === undefined ? {} : { roles }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
