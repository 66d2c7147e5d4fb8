/** API keys: `perdure_<id>_<secret>`. */
import type { ApiKeys } from '../../store/api-keys.js';
import { defaultScopes } from '../../contract/scopes.js';
import { refused } from './authenticate.js';
import type { TokenCheck } from './authenticate.js';

export function apiKeyCheck(keys: Pick<ApiKeys, 'find'>): TokenCheck {
  return async (token) => {
    if (!token.startsWith('perdure_')) return undefined;
    const record = await keys.find(token);
    if (record === undefined) throw refused('the credential is not valid');
    const { user_id, org_id, role, profiles, roles = [], scopes = defaultScopes(role, profiles) } = record;
    return { kind: 'member', user_id, org_id, role, roles, scopes, profiles };
  };
}
