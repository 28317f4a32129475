/** What a request to a path that is not there is answered: in which dialect, and what to do next. */
import type { Endpoint } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import { anthropicErrorBody } from '../formats/anthropic/index.ts'
import { geminiErrorBody } from '../formats/gemini/index.ts'
import { isMisspelt } from '../lib/closest-match.ts'
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
  nextStep({ method, path }: Pick<HttpRequest, 'method' | 'path'>): string {
    if (path.startsWith('/v1/v1/')) return 'the path has /v1 twice: leave one out of the base URL'
    if (path.startsWith('//')) return 'the path begins with two slashes: end the base URL without one'
    if (path.length > pathLengthMax) return ''
    const other = elsewhere.find(([pattern]) => pattern.test(path))
    if (other) return other[1]
    const segments = path.split('/')
    if (segments.length > segmentsMax) return ''
    return (
      this.#prefixed(method, segments, 2) ??
      this.#misspelt(method, segments) ??
      this.#prefixed(method, segments, 1) ??
      ''
    )
  }

  /** A path that is there, of so many segments, behind something that is not. */
  #prefixed(method: string, segments: readonly string[], segmentsMin: number): string | undefined {
    for (let at = 2; at <= segments.length - segmentsMin; at++) {
      const rest = `/${segments.slice(at).join('/')}`
      const methods = rest === '/' ? undefined : this.#methods(method, rest)
      if (methods) return `${methods} ${rest} is there: leave ${segments.slice(0, at).join('/')} out of the base URL`
    }
    const withVersion = `/v1${segments.join('/')}`
    const methods = this.#methods(method, withVersion)
    return methods && `${methods} ${withVersion} is there: end the base URL with /v1`
  }

  /** A path that is there, with a slip in one of its words or in several: what a name stands for is like no word. */
  #misspelt(method: string, segments: readonly string[]): string | undefined {
    for (const pattern of this.#patterns) {
      if (pattern.length !== segments.length) continue
      const isMeant = pattern.every((part, at) => isName(part) || part === segments[at] || isSlip(segments[at]!, part))
      const path = isMeant ? pattern.map((part, at) => (isName(part) ? segments[at] : part)).join('/') : ''
      const methods = isMeant && this.#methods(method, path)
      if (methods) return `try ${methods} ${path}`
    }
    return undefined
  }

  /** Those of a path that is there for this method; undefined = it is not. */
  #methods(method: string, path: string): string | undefined {
    const found = this.#table.find(path)
    if (!found?.value.has(method)) return undefined
    // A verb of Google's (`gemini:rawPredict`) is no part of a name.
    if (Object.values(found.params).some(value => value.includes(':'))) return undefined
    return [...found.value.keys()].join(' or ')
  }
}

const isName = (part: string): boolean => part.startsWith('{') && part.endsWith('}')

const isSlip = (word: string, meant: string): boolean => !meant.includes('{') && isMisspelt(word, [meant])
