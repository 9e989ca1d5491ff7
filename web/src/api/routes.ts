/** The routes of docs/openapi.json as types: `RouteOf<'get'>`, `RequestOf<'get', '/slides'>`, `AnswerOf<…>`. */
import type { components, paths } from './generated/schema';

type Base = '/api/v1/wsi';
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type RouteOf<M extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<M, { responses: unknown }>
    ? Path extends `${Base}${infer Route}`
      ? Route
      : never
    : never;
}[keyof paths];

type Operation<M extends Method, R extends RouteOf<M>> = `${Base}${R}` extends keyof paths
  ? paths[`${Base}${R}`][M]
  : never;

type Given<Name extends string, Value> = [Value] extends [never]
  ? unknown
  : undefined extends Value
    ? { [Key in Name]?: Exclude<Value, undefined> }
    : { [Key in Name]: Value };

type Parameters<O> = O extends { parameters: infer P } ? P : never;
type Path<O> = Parameters<O> extends { path: infer P } ? P : never;
type Query<O> = Parameters<O> extends { query?: infer Q } ? ([Q] extends [never] ? never : Q | undefined) : never;
type Body<O> = O extends { requestBody: { content: { 'application/json': infer B } } }
  ? B
  : O extends { requestBody?: { content: { 'application/json': infer B } } }
    ? B | undefined
    : never;

export interface RequestOptions {
  signal?: AbortSignal;
  /** Makes a repeat harmless, so that the call is retried; one `crypto.randomUUID()` per intent of the user. */
  idempotencyKey?: string;
}

export type RequestOf<M extends Method, R extends RouteOf<M>> = Given<'path', Path<Operation<M, R>>> &
  Given<'query', Query<Operation<M, R>>> &
  Given<'body', Body<Operation<M, R>>> &
  RequestOptions;

type Json<Response> = Response extends { content: { 'application/json': infer Value } } ? Value : undefined;

export type AnswerOf<M extends Method, R extends RouteOf<M>> =
  Operation<M, R> extends { responses: infer Responses }
    ? Json<Responses[Extract<keyof Responses, 200 | 201 | 202 | 204>]>
    : never;
