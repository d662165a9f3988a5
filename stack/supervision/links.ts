/** The front's connections to the processes, and what it has sent over them that is not answered yet. */
import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createBell } from '../../engine/waiting.js';
import type { RoleName } from '../../service/roles/role-names.js';

export interface Links {
  /** The connections over which requests for a role go. One that is refused is tried at the role's other processes, since nothing was sent. */
  agentOf(role: RoleName): Agent;
  /** A request was sent to the port. Call the result when it is answered. */
  began(port: number): () => void;
  /** Closes the idle connections to a process that leaves. Resolves when nothing that was sent to it is unanswered, or after `withinMs`. */
  forget(port: number, withinMs: number): Promise<void>;
}

const HOST = '127.0.0.1';
const AGENT: AgentOptions = { keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 256, scheduling: 'fifo' };

export function createLinks(portsOf: (role: RoleName) => readonly number[]): Links {
  const agents = new Map<RoleName, RoleAgent>();
  const unanswered = new Map<number, number>();
  const answered = createBell();
  const countOf = (port: number): number => unanswered.get(port) ?? 0;
  return {
    agentOf(role) {
      const agent = agents.get(role) ?? new RoleAgent(() => portsOf(role));
      agents.set(role, agent);
      return agent;
    },
    began(port) {
      unanswered.set(port, countOf(port) + 1);
      return () => {
        unanswered.set(port, countOf(port) - 1);
        answered.ring();
      };
    },
    async forget(port, withinMs) {
      const signal = AbortSignal.timeout(withinMs);
      while (countOf(port) > 0 && !signal.aborted) await answered.wait(signal, withinMs);
      for (const agent of agents.values()) agent.closeIdle(port);
    },
  };
}

type Connected = (error: Error | null, socket: Duplex) => void;

/** Gives a request only a connection that is made: until then it has sent nothing, so another process may have it. */
class RoleAgent extends Agent {
  /** Connections to another process than the one that was asked for. */
  private readonly strays = new WeakSet<Duplex>();

  constructor(private readonly ports: () => readonly number[]) {
    super(AGENT);
  }

  override createConnection(options: ClientRequestArgs, connected: Connected): undefined {
    const first = Number(options.port);
    const others = this.ports().filter((port) => port !== first);
    const attempt = (port: number, failure?: Error): void => {
      const socket = connect({ host: HOST, port, noDelay: true, keepAlive: true });
      const fail = (error: Error): void => {
        const next = others.shift();
        if (next !== undefined) attempt(next, failure ?? error); else connected(failure ?? error, socket);
      };
      socket.once('error', fail);
      socket.once('connect', () => {
        socket.off('error', fail);
        if (port !== first) this.strays.add(socket);
        connected(null, socket);
      });
    };
    attempt(first);
  }

  /** Whether to keep it. (Node's types hide the result.) A stray would be found under the port of the process that was asked for. */
  override keepSocketAlive(socket: Duplex): boolean {
    return !this.strays.has(socket) && super.keepSocketAlive(socket) as unknown as boolean;
  }

  closeIdle(port: number): void {
    for (const socket of Object.values(this.freeSockets).flat()) if ((socket as Socket | undefined)?.remotePort === port) socket?.destroy();
  }
}
