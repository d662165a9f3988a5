/**
 * A step on a request's way through the service: middleware that Express can run, and that uses of request and response
 * only what Node has, besides the properties below.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../api/endpoint.js';
import type { BearerToken } from '../api/scopes.js';

/** What earlier steps have found, in `response.locals`. */
export interface RequestLocals {
  /** The client's address, as the trusted proxies report it; absent when the connection is gone. */
  address?: string | undefined;
  /** The endpoint that the request is for. */
  endpoint?: Endpoint;
  /** When its work began, by the application's clock. */
  startedMs?: number;
  /** When the answer began; absent until then. */
  answeredMs?: number;
  /** The headers of every answer, where this one's are others than the usual ones: names and values in turn. */
  commonHeaders?: readonly string[];
  /** What the answer says of the client's limit: names and values in turn. */
  limitHeaders?: readonly string[];
  /** The bearer token, found valid. */
  token?: BearerToken;
}

export interface StepRequest extends IncomingMessage {
  /** Path parameters, percent-decoded. */
  params: Readonly<Record<string, string>>;
  /** Throws RequestError when a parameter is repeated. */
  readonly query: Readonly<Record<string, string>>;
  /** The target as it was sent. */
  readonly originalUrl: string;
  /** Absent until it has been read, and for an endpoint without one. */
  body?: Buffer | undefined;
}

export interface StepResponse extends ServerResponse {
  readonly locals: RequestLocals;
}

/** Calls the next step, or with an error the one that answers errors. */
export type Next = (error?: unknown) => void;
export type Middleware = (request: StepRequest, response: StepResponse, next: Next) => void | Promise<void>;
export type ErrorMiddleware = (error: unknown, request: StepRequest, response: StepResponse, next: Next) => void;
