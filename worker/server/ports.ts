import { connect, createServer, type AddressInfo, type Server } from 'node:net';

const HOST = '127.0.0.1';
/** How far above a taken port a free one is looked for. */
const SEARCH_SPAN = 100;

export interface PortRequest {
  /** 0: any free one. */
  port: number;
  /** The command's option that sets it, named in the error. */
  flag: string;
}

/** Turns the requests into port numbers that are free now, all different; throws with the next free one otherwise. */
export async function choosePorts(requests: PortRequest[]): Promise<number[]> {
  const fixed = new Set(requests.map((request) => request.port));
  const chosen: number[] = [];
  for (const { port, flag } of requests) {
    if (port === 0) {
      chosen.push(await freePort(fixed));
      fixed.add(chosen.at(-1) ?? 0);
      continue;
    }
    if (chosen.includes(port) || !(await isFree(port))) throw new Error(await takenMessage(port, flag, fixed));
    chosen.push(port);
  }
  return chosen;
}

async function takenMessage(port: number, flag: string, avoid: Set<number>): Promise<string> {
  for (let next = port + 1; next <= Math.min(port + SEARCH_SPAN, 65_535); next++) {
    if (!avoid.has(next) && (await isFree(next))) return `port ${port} is taken; ${next} is free: try ${flag} ${next}`;
  }
  return `port ${port} is taken, and so are the ${SEARCH_SPAN} after it: try ${flag} with another number, or 0 for any`;
}

async function isFree(port: number): Promise<boolean> {
  // Both, since macOS lets one bind 127.0.0.1 where another process already listens on all addresses.
  if (await canConnect(port)) return false;
  return listen(port).then(
    async (server) => {
      await close(server);
      return true;
    },
    () => false,
  );
}

async function freePort(avoid: Set<number>): Promise<number> {
  for (;;) {
    const server = await listen(0);
    const { port } = server.address() as AddressInfo;
    // Linux hands out free ports at random and may give the same one to the next caller. A connection that the
    // server's side closes first stays in TIME_WAIT, during which the kernel does not hand it out again, while
    // binding it by number works. (The trick of Temporal's own SDK.)
    await new Promise<void>((resolve) => {
      server.once('connection', (socket) => socket.on('error', () => undefined).end());
      connect({ port, host: HOST })
        .on('error', () => resolve())
        .on('close', () => resolve())
        .resume();
    });
    await close(server);
    if (!avoid.has(port)) return port;
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: HOST });
    const answer = (taken: boolean): void => {
      socket.destroy();
      resolve(taken);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
    socket.setTimeout(1_000, () => answer(false));
  });
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: HOST, exclusive: true }, () => resolve(server));
  });
}

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
