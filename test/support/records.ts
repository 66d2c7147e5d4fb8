/** The records of a data folder, as another process would open them. */
import { openRecords } from '../../store/records.js';
import type { Records } from '../../store/records.js';

export function recordsIn(dataDir: string, url?: string): Promise<Records> {
  return openRecords({ dataDir, url, report: () => {} });
}

export async function withRecords<T>(dataDir: string, work: (records: Records) => Promise<T>): Promise<T> {
  const records = await recordsIn(dataDir);
  try {
    return await work(records);
  } finally {
    await records.close();
  }
}
