/** TLS on a real socket: the certificate is checked against the name in the URL, and the address all the same. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const FETCH_PAGE = join(import.meta.dirname, '../../../dist/tools/web/fetch/fetch-page.js');
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(!hasOpenssl)('a page over https', () => {
  let folder: string;
  let server: Server;
  let port: number;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-https-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const names = 'subjectAltName=DNS:site.test,IP:127.0.0.1';
    const made = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=site.test -addext ${names}`;
    await promisify(execFile)('openssl', [...made.split(' '), '-keyout', key, '-out', cert]);
    server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('kept from other eyes');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  /** In a process of its own: which authorities are trusted is read when one starts. All names are this machine. */
  async function get(host: string, options: object, trusted: boolean): Promise<string> {
    const program = `
      import { connect } from 'node:net';
      const { createFetchPage } = await import(${JSON.stringify(FETCH_PAGE)});
      const network = { resolve: async () => [{ address: '127.0.0.1', family: 4 }], dial: (to) => connect(to) };
      const fetchPage = createFetchPage(${JSON.stringify(options)}, network);
      await fetchPage('https://${host}:${port}/', new AbortController().signal).then(
        ({ bytes }) => console.log(bytes.toString()),
        (error) => console.log(error.kind, error.message),
      );`;
    const env = { PATH: process.env['PATH'], ...(trusted ? { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') } : {}) };
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    return (await run).stdout.trim();
  }

  const local = { allow_private_addresses: true };
  it.each([
    ['of a name in its certificate is read', 'site.test', local, true, /^kept from other eyes$/],
    ['of an address in its certificate is read', '127.0.0.1', local, true, /^kept from other eyes$/],
    ['of another name is not', 'other.test', local, true, /^unavailable .*altnames/],
    ['of an authority that nobody trusts is not', 'site.test', local, false, /^unavailable .*self-signed/],
  ])('%s', async (_what, host, options, trusted, says) => {
    expect(await get(host, options, trusted)).toMatch(says);
  });

  it('at an address that is not public is not, whoever vouches for it', async () => {
    expect(await get('site.test', { ports: [port] }, true)).toMatch(/^denied .*not public/);
  });
});
