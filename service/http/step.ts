/** A step on a request's way through the service: Express middleware, and what the steps leave for those after them. */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { Endpoint } from '../api/endpoint.js';
import type { BearerToken } from '../api/scopes.js';

/** What earlier steps have found, in `response.locals`. */
export type Found = {
  /** The endpoint that the request is for. */
  endpoint?: Endpoint;
  /** When its work began, by the application's clock. */
  startedMs?: number;
  /** When the answer began; absent until then. */
  answeredMs?: number;
  /** The bearer token, found valid. */
  token?: BearerToken;
};

type Query = Record<string, string>;
/** The body is bytes; absent until it has been read, and for an endpoint without one. */
type Body = Buffer | undefined;

export type StepRequest = Request<Record<string, string>, unknown, Body, Query, Found>;
export type StepResponse = Response<unknown, Found>;
export type Step = RequestHandler<Record<string, string>, unknown, Body, Query, Found>;
export type ErrorStep = ErrorRequestHandler<Record<string, string>, unknown, Body, Query, Found>;
