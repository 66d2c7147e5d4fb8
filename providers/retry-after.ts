/** How long the vendor asks us to wait: `retry-after-ms` before `retry-after`, which is in seconds or an HTTP date. */
export function retryAfterMs(headers: Headers | undefined, now: number = Date.now()): number | undefined {
  const milliseconds = numeric(headers?.get('retry-after-ms'));
  if (milliseconds !== undefined) return milliseconds;
  const header = headers?.get('retry-after');
  const seconds = numeric(header);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const date = Date.parse(header ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function numeric(header: string | null | undefined): number | undefined {
  const value = header === null || header === undefined || header.trim() === '' ? Number.NaN : Number(header);
  return Number.isFinite(value) ? Math.max(0, value) : undefined;
}
