/**
 * Where the `temporal` binary comes from, with stand-ins for the CLI, for Go and for the download server: the order,
 * the cache and the words of the error. That the true binary starts is told by embedded-server.test.ts; the true
 * download and the true build need a network and minutes, and are not run here.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findServerBinary, SERVER_CLI_VERSION } from '../../worker/server-binary.js';
import { buildBinary } from '../../worker/server/build-binary.js';
import { downloadBinary } from '../../worker/server/download-binary.js';

const PRINTS_VERSION = 'echo "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"';
/** Nothing listens there, so a download fails at once. */
const NO_DOWNLOAD = 'http://127.0.0.1:2';

let root: string;
let bin: string;
let cacheDir: string;
let lines: string[];
const servers: Server[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-binary-'));
  bin = join(root, 'bin');
  cacheDir = join(root, 'cache', 'perdure', 'temporal');
  lines = [];
  mkdirSync(bin);
  // The PATH of these tests holds this folder only: a machine's own `temporal` and `go` must not take part.
  for (const tool of ['sh', 'tar', 'gzip', 'sleep', 'cat', 'chmod']) {
    symlinkSync(execFileSync('which', [tool], { encoding: 'utf8' }).trim(), join(bin, tool));
  }
});

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(root, { recursive: true, force: true });
});

const report = (line: string): void => void lines.push(line);
const cached = (): string => join(cacheDir, SERVER_CLI_VERSION, 'temporal');
const find = (downloadUrl = NO_DOWNLOAD) => findServerBinary({ env: { PATH: bin }, report, cacheDir, downloadUrl });

function writeScript(path: string, body: string): string {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function putInCache(body: string): void {
  mkdirSync(join(cacheDir, SERVER_CLI_VERSION), { recursive: true });
  writeScript(cached(), body);
}

/** A `go` that makes a binary of these lines, as `go install` would. */
function putGo(binaryBody: string, before = ''): void {
  const made = `printf '#!/bin/sh\\n%s\\n' '${binaryBody}' > "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"`;
  writeScript(join(bin, 'go'), `echo "$@" > "${root}/go-arguments"\n${before}\n${made}`);
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the order', () => {
  test('a `temporal` on the PATH comes first', async () => {
    writeScript(join(bin, 'temporal'), PRINTS_VERSION);
    putInCache(PRINTS_VERSION);
    expect(await find()).toEqual({
      path: join(bin, 'temporal'),
      source: 'path',
      version: 'temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)',
    });
  });

  test('one on the PATH that does not run, or is another program, is passed over with the reason', async () => {
    putInCache(PRINTS_VERSION);
    writeScript(join(bin, 'temporal'), 'exit 3');
    expect((await find()).source).toBe('cache');
    expect(lines[0]).toMatch(/on the PATH: .*bin\/temporal --version does not run/);
    writeScript(join(bin, 'temporal'), 'echo "temporal 3.1, a calendar"');
    expect((await find()).source).toBe('cache');
    expect(lines.join('\n')).toContain('is not the Temporal CLI: --version prints "temporal 3.1, a calendar"');
  });

  test('the cache is the folder that XDG_CACHE_HOME names', async () => {
    if (process.platform !== 'linux') return;
    putInCache(PRINTS_VERSION);
    const env = { PATH: bin, XDG_CACHE_HOME: join(root, 'cache') };
    expect(await findServerBinary({ env, report, downloadUrl: NO_DOWNLOAD })).toMatchObject({
      source: 'cache',
      path: cached(),
    });
  });

  test('Go is asked last, for the pinned version', async () => {
    putGo(PRINTS_VERSION);
    expect(await find()).toMatchObject({ source: 'go', path: cached() });
    expect(readFileSync(join(root, 'go-arguments'), 'utf8').trim()).toBe(
      'install -v github.com/temporalio/cli/cmd/temporal@v1.5.1',
    );
    expect((await find()).source).toBe('cache');
  });
});

describe('the download', () => {
  async function serveArchive(): Promise<{ url: string; asked: string[] }> {
    writeScript(join(root, 'temporal'), PRINTS_VERSION);
    execFileSync('tar', ['-czf', join(root, 'a.tar.gz'), '-C', root, 'temporal']);
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url ?? '');
      if (request.url === '/a.tar.gz') response.end(readFileSync(join(root, 'a.tar.gz')));
      else
        response.end(
          JSON.stringify({ archiveUrl: `http://${request.headers.host}/a.tar.gz`, fileToExtract: 'temporal' }),
        );
    });
    return { url, asked };
  }

  test('is unpacked into the cache, and not repeated', async () => {
    const { url, asked } = await serveArchive();
    expect(await find(url)).toMatchObject({ source: 'download', path: cached() });
    expect(asked[0]).toMatch(/^\/cli\/v1\.5\.1\?arch=(amd64|arm64)&platform=\w+&format=tar\.gz$/);
    expect((await find(url)).source).toBe('cache');
    expect(asked).toHaveLength(2);
    expect(readdirSync(cacheDir)).toEqual([SERVER_CLI_VERSION]);
  });

  test('gives up on a server that does not answer', async () => {
    const url = await serve(() => undefined);
    const attempt = downloadBinary({
      baseUrl: url,
      version: '1.5.1',
      env: {},
      staging: root,
      report,
      answerTimeoutMs: 100,
    });
    await expect(attempt).rejects.toThrow('no answer within 0.1 s');
  });

  test('refuses an archive that would be written outside of its folder', async () => {
    const url = await serve((request, response) => {
      response.end(JSON.stringify({ archiveUrl: `http://${request.headers.host}/a`, fileToExtract: '../../temporal' }));
    });
    const attempt = downloadBinary({ baseUrl: url, version: '1.5.1', env: {}, staging: root, report });
    await expect(attempt).rejects.toThrow('names a file outside of it');
  });
});

describe('the build', () => {
  test('says how long it has taken, how many modules it has downloaded and what it has compiled', async () => {
    const chatter =
      'echo "go: downloading go.temporal.io/api v1.53.0" >&2; echo "go.temporal.io/api/enums/v1" >&2; sleep 1';
    putGo(PRINTS_VERSION, chatter);
    await buildBinary({ version: '1.5.1', env: { PATH: bin }, staging: root, report, progressEveryMs: 20 });
    expect(lines.some((line) => /1\.5\.1: \d+ s, 1 modules downloaded, 1 packages compiled/.test(line))).toBe(true);
  });

  test('that ends in a binary that does not run leaves nothing in the cache', async () => {
    putGo('exit 1');
    await expect(find()).rejects.toThrow('--version does not run');
    expect(existsSync(cached())).toBe(false);
    expect(readdirSync(cacheDir)).toEqual([SERVER_CLI_VERSION]);
  });

  test('replaces a cached binary that does not run', async () => {
    putInCache('exit 1');
    putGo(PRINTS_VERSION);
    expect((await find()).source).toBe('go');
    expect((await find()).source).toBe('cache');
  });

  test('may run twice at once', async () => {
    putGo(PRINTS_VERSION, 'sleep 0.2');
    const found = await Promise.all([find(), find(), find()]);
    expect(found.map((binary) => binary.path)).toEqual([cached(), cached(), cached()]);
    expect(readdirSync(cacheDir)).toEqual([SERVER_CLI_VERSION]);
    expect((await find()).source).toBe('cache');
  });
});

test('when every way fails, the error says what was tried, why each failed and how to install it', async () => {
  writeScript(join(bin, 'go'), 'echo "no required module provides this package" >&2; exit 1');
  const message = await find().then(
    () => 'found',
    (error: Error) => error.message,
  );
  const parts = [
    'no Temporal server can be started: the temporal CLI 1.5.1 was not found and could not be made. Tried:',
    '1. `temporal` on the PATH: there is none',
    `2. the cached binary ${cached()}: there is none yet`,
    `3. the SDK's download of version 1.5.1: ${NO_DOWNLOAD}/cli/v1.5.1?`,
    'ECONNREFUSED 127.0.0.1:2',
    '4. go install github.com/temporalio/cli/cmd/temporal@v1.5.1: go install failed with exit code 1',
    'no required module provides this package',
    '`brew install temporal`',
    `put its binary at ${cached()}`,
    '--address HOST:PORT or TEMPORAL_ADDRESS',
  ];
  expect(parts.filter((part) => !message.includes(part))).toEqual([]);
  expect(lines.filter((line) => line.startsWith('building'))).toHaveLength(1);
});

test('without Go the error says so', async () => {
  await expect(find()).rejects.toThrow('`go` is not on the PATH');
});
