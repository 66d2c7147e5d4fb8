/**
 * The download that Temporal's SDKs use, spoken directly: GET https://temporal.download/cli/<version> answers with
 * the archive's address. Not through @temporalio/testing: its only door to the download also starts a server and
 * the native runtime (after which `Runtime.install` is refused), has no time-out and tells nothing of its progress.
 * Same endpoint and fields as in sdk-core, crates/sdk-core/src/ephemeral_server/mod.rs.
 */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join, normalize, sep } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Report } from './report.js';

interface Archive {
  archiveUrl: string;
  fileToExtract: string;
}

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64', arm: 'arm64' };
const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { win32: 'windows', darwin: 'darwin', linux: 'linux' };

/** No network must be noticed fast: after this the next way is tried. */
const ANSWER_TIMEOUT_MS = 15_000;
/** A download may be slow, but not silent. */
const STALL_TIMEOUT_MS = 30_000;
const PROGRESS_EVERY_MS = 5_000;

export interface DownloadOptions {
  baseUrl: string;
  version: string;
  env: NodeJS.ProcessEnv;
  staging: string;
  report: Report;
  answerTimeoutMs?: number;
}

/** Returns the path of the extracted binary inside `staging`. */
export async function downloadBinary(options: DownloadOptions): Promise<string> {
  const { staging, report } = options;
  const info = await askForArchive(options);
  const archive = join(staging, 'archive.tar.gz');
  report(`downloading ${info.archiveUrl}`);
  await fetchTo(info.archiveUrl, archive, report);
  const binary = normalize(join(staging, info.fileToExtract));
  if (!binary.startsWith(staging + sep))
    throw new Error(`the archive names a file outside of it: ${info.fileToExtract}`);
  await promisify(execFile)('tar', ['-xzf', archive, '-C', staging, info.fileToExtract], { env: options.env });
  return binary;
}

async function askForArchive(options: DownloadOptions): Promise<Archive> {
  const { baseUrl, version, answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
  const arch = ARCHITECTURES[process.arch];
  const platform = PLATFORMS[process.platform];
  if (!arch || !platform) throw new Error(`there is no Temporal CLI for ${process.platform} on ${process.arch}`);
  const url = new URL(`/cli/v${version}`, baseUrl);
  url.search = new URLSearchParams({ arch, platform, format: 'tar.gz' }).toString();
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const body: unknown = await fetch(url, { signal })
    .then(async (response) => {
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response.json();
    })
    .catch((error: unknown) => {
      const why = signal.aborted ? `no answer within ${answerTimeoutMs / 1000} s` : rootMessage(error);
      throw new Error(`${url.href}: ${why}`);
    });
  if (!isArchive(body)) throw new Error(`${url.href} answered with something else than an archive's address`);
  if (!body.archiveUrl.startsWith(url.protocol)) {
    throw new Error(`${url.href} points to ${body.archiveUrl}, which is not ${url.protocol}`);
  }
  return body;
}

function isArchive(body: unknown): body is Archive {
  const { archiveUrl, fileToExtract } = (body ?? {}) as Partial<Record<keyof Archive, unknown>>;
  return typeof archiveUrl === 'string' && typeof fileToExtract === 'string' && fileToExtract !== '';
}

async function fetchTo(url: string, file: string, report: Report): Promise<void> {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), STALL_TIMEOUT_MS);
  try {
    const response = await fetch(url, { signal: stalled.signal });
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    const total = Number(response.headers.get('content-length'));
    const meter = progressMeter(total, report, () => timer.refresh());
    await pipeline(Readable.fromWeb(response.body), meter, createWriteStream(file));
  } catch (error) {
    const why = stalled.signal.aborted ? `no data for ${STALL_TIMEOUT_MS / 1000} s` : rootMessage(error);
    throw new Error(`${url}: ${why}`);
  } finally {
    clearTimeout(timer);
  }
}

function progressMeter(total: number, report: Report, onData: () => void): Transform {
  let received = 0;
  let reportedAt = Date.now();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      onData();
      if (Date.now() - reportedAt >= PROGRESS_EVERY_MS) {
        reportedAt = Date.now();
        report(`downloaded ${megabytes(received)}${total > 0 ? ` of ${megabytes(total)}` : ''}`);
      }
      done(null, chunk);
    },
  });
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** `fetch failed` says nothing; the reason (no such host, refused) is in the cause. */
function rootMessage(error: unknown): string {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  if (at instanceof AggregateError && at.errors[0] instanceof Error) return at.errors[0].message;
  return at instanceof Error ? at.message : String(at);
}
