/** Bucket and keys, for whatever talks to Temporal: by the environment; keys also by the application's configuration. */
import type { KeySource } from '../contract/encryption-keys.js';
import type { Application } from './application.js';
import type { ServerSettings } from './server-settings.js';

/** The environment wins. */
export function withKeysOf(
  { encryption_keys }: { encryption_keys: KeySource | undefined },
  settings: ServerSettings,
): ServerSettings {
  if (encryption_keys === undefined || settings.storage.keys !== undefined) return settings;
  return { ...settings, storage: { ...settings.storage, keys: encryption_keys } };
}

/**
 * For commands that write, and do not need the application itself. They load it all the same: what they say would else be
 * plain where it must not be. Through a gateway, or with keys in the environment, they need not.
 */
export async function withStorageOf(application: Application, settings: ServerSettings): Promise<ServerSettings> {
  if (application.config.builtIn || settings.storage.keys !== undefined) return settings;
  return withKeysOf(await application.registry(), settings);
}

/** For commands that only read: the application is loaded when something encrypted is met. */
export function readingStorageOf(application: Application, settings: ServerSettings): ServerSettings {
  if (application.config.builtIn || settings.storage.keys !== undefined) return settings;
  const keys = async () => {
    const { encryption_keys = [] } = await application.registry();
    return typeof encryption_keys === 'function' ? encryption_keys() : encryption_keys;
  };
  return { ...settings, storage: { ...settings.storage, keys, only_reads: true } };
}
