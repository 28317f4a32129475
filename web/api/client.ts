/** Asks the gateway. Types are those of its own OpenAPI document (schema.d.ts), so that a changed field is an error. */
import { apiUrl } from '../lib/urls.ts'
import { refusalText, t } from '../strings/index.ts'
import { developmentHeaders } from './development-key.ts'
import type { Calls } from './schema.d.ts'

/** An operation of the API, by method and path: `GET /key/list`. */
export type Operation = keyof Calls

type Given<Type> = Type extends undefined ? unknown : Type

/** What an operation is asked with. */
export interface CallOptions<Name extends Operation> {
  /** For the `{names}` of the path. */
  readonly path?: Given<Calls[Name]['path']>
  readonly query?: Partial<Given<Calls[Name]['query']>>
  readonly body?: Calls[Name]['body']
  readonly signal?: AbortSignal
}

/**
 * What the gateway answered instead of a success, or `status` 0 when there was no answer. `message` is in the language
 * of the pages.
 */
export class ApiError extends Error {
  readonly status: number
  /** What is wrong in the language of the pages; `message` has the gateway's own words behind it. */
  readonly sentence: string
  /** The gateway's own words, in English. */
  readonly original: string
  /** For the operator: finds the same request in the gateway's log. */
  readonly requestId: string | null
  /** The field that is wrong, where one is. */
  readonly field: string | null
  /**
   * The word for programs: `rate_limit_exceeded`. Without an answer: `unread`; of a change `unsent`, or `unanswered`
   * where it is not known whether it was made.
   */
  readonly code: string | null
  /** When the limit that refused it lets requests pass again, in milliseconds since 1970. */
  readonly retryAtMs: number | null
  /** true = there is no session any more: the person is asked to sign in. */
  readonly isSignedOut: boolean

  constructor(message: string, about: AboutError) {
    super(message)
    this.name = 'ApiError'
    this.status = about.status
    this.sentence = about.sentence ?? message
    this.original = about.original ?? message
    this.requestId = about.requestId ?? null
    this.field = about.field ?? null
    this.code = about.code ?? null
    this.retryAtMs = about.retryAtMs ?? null
    this.isSignedOut = about.isSignedOut ?? false
  }
}

type AboutError = Pick<ApiError, 'status'> &
  Partial<Pick<ApiError, 'sentence' | 'original' | 'requestId' | 'field' | 'code' | 'retryAtMs' | 'isSignedOut'>>

const warned = new Set<(warnings: readonly string[]) => void>()

/** Called with what the gateway accepted, and takes for a mistake. Returns the function that ends it. */
export function onWarnings(listener: (warnings: readonly string[]) => void): () => void {
  warned.add(listener)
  return () => void warned.delete(listener)
}

type Listener = () => void
const expired = new Set<Listener>()

/** Called when an answer says that the session has ended. Returns the function that ends it. */
export function onSignedOut(listener: Listener): Listener {
  expired.add(listener)
  return () => void expired.delete(listener)
}

/** One operation. Resolves with the parsed answer; rejects with an `ApiError`, or when `signal` aborts. */
export async function ask<Name extends Operation>(
  operation: Name,
  options: CallOptions<Name> = {},
): Promise<Calls[Name]['answer']> {
  const response = await send(operation, options)
  const text = await response.text()
  const answer = (text === '' ? undefined : JSON.parse(text)) as Calls[Name]['answer']
  // What is only read says what it warns of where it is shown.
  const warnings = operation.startsWith('GET ') ? [] : warningsOf(answer)
  if (warnings.length > 0) for (const listener of warned) listener(warnings)
  return answer
}

const warningsOf = (answer: unknown): readonly string[] => {
  const found = (answer as { readonly warnings?: unknown } | null | undefined)?.warnings
  return Array.isArray(found) ? found.map(String) : []
}

/**
 * As `ask`, for answers that are read piece by piece (streams, files).
 * @public
 */
export async function send<Name extends Operation>(
  operation: Name,
  { path, query, body, signal }: CallOptions<Name> = {},
): Promise<Response> {
  const [method, pattern] = operation.split(' ') as [string, string]
  const filled = pattern.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((path as Record<string, unknown> | undefined)?.[name] ?? '')),
  )
  const url = apiUrl(filled)
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>))
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, String(value))
  // What costs money: links on other sites must not ask for it.
  const isOwn = operation === 'GET /health'
  return sendTo(url, { method, body: body === undefined ? undefined : JSON.stringify(body), signal, isOwn })
}

/** A request as it is sent. */
interface RawRequest {
  readonly method: string
  readonly body?: string | FormData | undefined
  readonly signal?: AbortSignal | undefined
  /** A key in the place of the session; empty = as the person who is signed in. */
  readonly key?: string
  /** Says by a header, which no page of another origin can send, that this page asks. */
  readonly isOwn?: boolean
}

/** A request that the document of the API does not describe by JSON: forms, streams of a model. */
export async function sendTo(url: URL, { method, body, signal, key = '', isOwn }: RawRequest): Promise<Response> {
  const wasOffline = !navigator.onLine
  const headers = new Headers(key === '' ? developmentHeaders() : { authorization: `Bearer ${key}` })
  if (typeof body === 'string') headers.set('content-type', 'application/json')
  if (isOwn) headers.set('x-requested-with', 'modelgate')
  const response = await fetch(url, {
    method,
    headers,
    body,
    signal,
    credentials: key === '' ? 'same-origin' : 'omit',
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    const failure = method === 'GET' ? 'unread' : wasOffline ? 'unsent' : 'unanswered'
    throw new ApiError('the gateway does not answer', { status: 0, code: failure })
  })
  if (response.ok) return response
  // A key that is refused says nothing of the session.
  const isSignedOut = response.status === 401 && key === ''
  const error = await errorOf(response, isSignedOut)
  if (isSignedOut) for (const listener of expired) listener()
  throw error
}

async function errorOf(response: Response, isSignedOut: boolean): Promise<ApiError> {
  const waitS = Number(response.headers.get('retry-after'))
  const about = {
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAtMs: waitS > 0 ? Date.now() + waitS * 1000 : null,
    isSignedOut,
  }
  const parsed = (await response.json().catch(() => null)) as {
    error?: { message?: unknown; param?: unknown; code?: unknown; type?: unknown }
    detail?: { type?: unknown }[]
  } | null
  const inner = parsed?.error
  const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)
  const said = {
    message: textOrNull(inner?.message) ?? (response.statusText || String(response.status)),
    type: textOrNull(inner?.type),
    code: textOrNull(inner?.code),
    field: textOrNull(inner?.param),
    problem: Array.isArray(parsed?.detail) ? textOrNull(parsed.detail[0]?.type) : null,
  }
  const sentence = refusalText(said)
  // Of a sign-in that failed there is no more to say.
  const isWhole = sentence === said.message || response.status === 401
  const message = isWhole ? sentence : `${sentence} ${t('all.serverSays', { message: said.message })}`
  return new ApiError(message, { ...about, sentence, original: said.message, field: said.field, code: said.code })
}
