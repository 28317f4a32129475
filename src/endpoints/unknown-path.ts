/** What a request to a path that is not there is answered: in which dialect, and what to do next. */
import type { Endpoint } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import { anthropicErrorBody } from '../formats/anthropic/index.ts'
import { geminiErrorBody } from '../formats/gemini/index.ts'
import { closestMatch } from '../lib/closest-match.ts'
import type { PathTable } from '../lib/path-table.ts'
import { scimErrorBody } from './tenancy/scim/error-body.ts'

/** By the path, else by a header that only the clients of one vendor send; undefined = OpenAI's. */
export function dialectOfPath({ path, headers }: Pick<HttpRequest, 'path' | 'headers'>): Endpoint['errorBody'] {
  if (/^\/scim(\/|$)/.test(path)) return scimErrorBody
  if (/^\/(v1beta|v1alpha|gemini|upload)(\/|$)/.test(path)) return geminiErrorBody
  if (/^\/anthropic(\/|$)|^(\/v1)?\/(messages|complete)(\/|$)/.test(path)) return anthropicErrorBody
  if (headers.has('anthropic-version')) return anthropicErrorBody
  return headers.has('x-goog-api-key') || headers.has('x-goog-api-client') ? geminiErrorBody : undefined
}

const streamed = 'send POST /v1/chat/completions or /v1/responses with `stream`'
/** Paths of vendors that this gateway does not have, and what it has instead. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [/\/messages\/batches(\/|$)/, "batches are at /v1/batches, in OpenAI's dialect"],
  [/:batchGenerateContent$|\/batches\//, "batches are at /v1/batches, in OpenAI's dialect"],
  [/\/(realtime|live)(\/|$)/, `there are no realtime sessions; ${streamed}`],
  [/\/conversations(\/|$)/, 'conversations are not kept; continue an answer with `previous_response_id`'],
  [/\/vector_stores(\/|$)/, 'there are no vector stores; send what was found in the messages'],
  [/\/cachedContents(\/|$)/, 'there are no cached contents; send the content itself in each call'],
  [
    /^\/upload\/|^(\/gemini)?\/v1(beta|alpha)\/files(\/|$)/,
    "files are uploaded to POST /v1/files, in OpenAI's dialect",
  ],
  [/^(\/anthropic)?(\/v1)?\/complete$/, 'text completions of Claude were retired; send POST /v1/messages'],
  [/^(\/v1)?\/edits$/, 'edits were retired; send POST /v1/chat/completions'],
  [/\/fine_tuning(\/|$)/, 'models are fine-tuned at their vendor; a configured model of any name can be called here'],
]

const pathLengthMax = 120
const segmentsMax = 12

/** Next steps for wrong paths, found without the caller's key: bounded in time by the length of the path. */
export class PathHints {
  readonly #table: PathTable<ReadonlyMap<string, Endpoint>>
  /** Each pattern with its segments. */
  readonly #patterns: readonly (readonly string[])[]

  constructor(table: PathTable<ReadonlyMap<string, Endpoint>>, endpoints: readonly Endpoint[]) {
    this.#table = table
    const paths = new Set(endpoints.flatMap(endpoint => endpoint.paths))
    this.#patterns = [...paths].map(path => path.split('/'))
  }

  /** As the part of a sentence; empty = nothing is near. */
  nextStep(path: string): string {
    if (path.startsWith('/v1/v1/')) return 'the path has /v1 twice: leave one out of the base URL'
    if (path.startsWith('//')) return 'the path begins with two slashes: end the base URL without one'
    if (path.length > pathLengthMax) return ''
    const other = elsewhere.find(([pattern]) => pattern.test(path))
    return other ? other[1] : (this.#prefixed(path, 2) ?? this.#similar(path) ?? this.#prefixed(path, 1) ?? '')
  }

  /** A path that is there, of so many segments, behind something that is not. */
  #prefixed(path: string, segmentsMin: number): string | undefined {
    const segments = path.split('/')
    if (segments.length > segmentsMax) return undefined
    for (let at = 2; at <= segments.length - segmentsMin; at++) {
      const rest = `/${segments.slice(at).join('/')}`
      if (rest !== '/' && this.#table.find(rest))
        return `${this.#methods(rest)} ${rest} is there: leave ${segments.slice(0, at).join('/')} out of the base URL`
    }
    const withVersion = `/v1${path}`
    return this.#table.find(withVersion)
      ? `${this.#methods(withVersion)} ${withVersion} is there: end the base URL with /v1`
      : undefined
  }

  #similar(path: string): string | undefined {
    const segments = path.split('/')
    const near = closestMatch(
      path,
      this.#patterns.filter(one => one.length === segments.length).map(one => filled(one, segments)),
    )
    return near === undefined ? undefined : `try ${this.#methods(near)} ${near}`
  }

  #methods(path: string): string {
    return [...(this.#table.find(path)?.value.keys() ?? [])].join(' or ')
  }
}

/** The pattern with the parameters of the request. */
function filled(pattern: readonly string[], segments: readonly string[]): string {
  return pattern.map((part, at) => (part.startsWith('{') && part.endsWith('}') ? segments[at]! : part)).join('/')
}
