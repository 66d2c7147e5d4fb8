/** For clients of one's own: the storage of a deployment, and with it the data converter that its runs need. */
export { openStorage } from './open-storage.js';
export type { Storage, StorageOptions, StorageSettings } from './open-storage.js';
export { storageFromEnv } from './storage-settings.js';
