/**
 * Requests for another protocol on their connection. Where a server listens to `upgrade`, Node gives it every request
 * with that header and gives up its own parser: a POST of Java's HttpClient, which sends `Upgrade: h2c`, would lose its
 * body. Here Node learns of an upgrade only where the service makes one; every other request is an ordinary one.
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RequestError } from '../../engine/records/errors.js';
import { pause } from '../../engine/waiting.js';
import type { ClientErrorCode } from '../api/errors.js';
import { LINGER_MS } from './ending.js';

/**
 * The class of a server's requests. Node's parser sets `upgrade` as soon as it knows, and reads it when the headers are
 * there. Newer versions of Node have an option for this, `shouldUpgradeCallback`; Node 20 has not.
 */
export function requestsThatUpgrade(isUpgrade: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  return class extends IncomingMessage {
    declare private isAsked: boolean;

    get upgrade(): boolean { return this.isAsked && (this.method === 'CONNECT' || isUpgrade(this)); }

    set upgrade(isAsked: boolean) { this.isAsked = isAsked; }
  };
}

/** Upgrades that the server has been asked for and that are answered by the application, like any request. */
export class Upgrades {
  private readonly heads = new WeakMap<IncomingMessage, Buffer>();

  /**
   * The response to such a request, after which the connection ends. `head`: what the client has sent already in the
   * other protocol. Undefined, with the connection closed, while an answer to an earlier request is on its way.
   */
  begin(request: IncomingMessage, socket: Socket, head: Buffer): ServerResponse | undefined {
    // Node has taken its own listener away.
    socket.on('error', () => { socket.destroy(); });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      socket.destroy();
      return undefined;
    }
    this.heads.set(request, head);
    response.once('finish', () => {
      response.detachSocket(socket);
      socket.resume().end();
      void pause(LINGER_MS).then(() => { socket.destroy(); });
    });
    return response;
  }

  /** The head of a request for a WebSocket. Throws RequestError `upgrade_required`, and `invalid_request` for a bad key. */
  headOf(request: IncomingMessage): Buffer {
    const { headers } = request;
    const head = this.heads.get(request);
    if (head === undefined || headers['sec-websocket-version'] !== '13') throw new RequestError<ClientErrorCode>('upgrade_required');
    if (!KEY.test(headers['sec-websocket-key'] ?? '')) {
      throw new RequestError('invalid_request', 'Sec-WebSocket-Key: 16 bytes in base64', [{ field: 'Sec-WebSocket-Key', message: '16 bytes in base64' }]);
    }
    return head;
  }
}

const KEY = /^[+/0-9A-Za-z]{22}==$/;
