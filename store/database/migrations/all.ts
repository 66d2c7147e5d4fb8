/** In order. */
import { records } from './0001-records.js';
import { archive } from './0002-archive.js';
import { archiveSweeps } from './0003-archive-sweeps.js';
import { secrets } from './0004-secrets.js';
import type { Migration } from './migration.js';

export const MIGRATIONS: readonly Migration[] = [records, archive, archiveSweeps, secrets];
