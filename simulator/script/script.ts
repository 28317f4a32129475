/** Scripted replies, which replace generated ones. */
import { checkScript } from './validate.ts'

/** Which requests a script applies to: all given fields have to match. */
export interface Matcher {
  /** The model without the fault suffix: exact, or a pattern. */
  readonly model?: string | RegExp
  /** A part of the path. */
  readonly path?: string | RegExp
  /** A part of the text of the last user message. */
  readonly text?: string | RegExp
  /** Values by header name, in any case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The part of a request that scripts see. */
export interface ScriptRequest {
  readonly method: string
  readonly path: string
  readonly model: string
  readonly text: string
  readonly headers: ReadonlyMap<string, string>
  /** Parsed JSON. */
  readonly body: unknown
}

/** What to answer. Fields left out are generated; the dialect of the request formats the reply. */
export interface ScriptedReply {
  readonly text?: string
  readonly reasoning?: string
  /** `arguments` as a value, or as the exact text to send. */
  readonly toolCalls?: readonly {
    readonly name: string
    readonly arguments?: unknown
    readonly id?: string
  }[]
  /** Images in the answer, base64, where the dialect has a field for them. Default type: image/png. */
  readonly images?: readonly { readonly data: string; readonly mediaType?: string }[]
  readonly finish?: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** Sent unchanged; excludes all other fields except `fault` and `times`. Nothing is billed. */
  readonly raw?: {
    readonly status?: number
    /** Default: content-type application/json. */
    readonly headers?: Readonly<Record<string, string>>
    readonly body: string | Uint8Array
  }
  /** A fault as in `model#fault`; one in the request has precedence. */
  readonly fault?: string
  /** Number of requests to answer before the script is removed. Default: no limit. */
  readonly times?: number
}

/** A function may throw: the request is then answered with status 500 and the error's text. */
export type MatcherLike = Matcher | ((request: ScriptRequest) => boolean)

interface Entry {
  readonly matcher: MatcherLike
  readonly reply: ScriptedReply
  left: number
}

function matches(pattern: string | RegExp | undefined, value: string, isWhole: boolean): boolean {
  if (pattern === undefined) return true
  if (pattern instanceof RegExp) return value.search(pattern) >= 0
  return isWhole ? value === pattern : value.includes(pattern)
}

function matchesRequest(matcher: MatcherLike, request: ScriptRequest): boolean {
  if (typeof matcher === 'function') return matcher(request)
  return (
    matches(matcher.model, request.model, true) &&
    matches(matcher.path, request.path, false) &&
    matches(matcher.text, request.text, false) &&
    Object.entries(matcher.headers ?? {}).every(([name, value]) => request.headers.get(name.toLowerCase()) === value)
  )
}

/** The active scripts. The one added last has precedence. */
export class Scripts {
  #entries: Entry[] = []

  /** Throws ScriptError for an invalid script. */
  add(matcher: MatcherLike, reply: ScriptedReply): void {
    checkScript({ match: matcher, reply })
    this.#entries.unshift({ matcher, reply, left: reply.times ?? Infinity })
  }

  /** The reply for this request, counted as used. */
  take(request: ScriptRequest): ScriptedReply | undefined {
    const entry = this.#entries.find(one => matchesRequest(one.matcher, request))
    if (!entry) return undefined
    if (--entry.left <= 0) this.#entries = this.#entries.filter(one => one !== entry)
    return entry.reply
  }

  clear(): void {
    this.#entries = []
  }
}
