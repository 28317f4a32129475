/** Replies that a test writes down, in place of those the simulator makes up. */
import { checkScript } from './validate.ts'

/** Which requests a script is for: every field given has to fit. */
export interface Matcher {
  /** The model without fault suffix: whole, or a pattern. */
  readonly model?: string | RegExp
  /** Part of the path. */
  readonly path?: string | RegExp
  /** Part of the text of the last message of the user. */
  readonly text?: string | RegExp
  /** Values of headers by name, in whatever case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What a script sees of a request. */
export interface ScriptRequest {
  readonly method: string
  readonly path: string
  readonly model: string
  readonly text: string
  readonly headers: ReadonlyMap<string, string>
  /** Parsed JSON. */
  readonly body: unknown
}

/** What to answer. A field left out is made up as ever; the dialect of the request writes it down. */
export interface ScriptedReply {
  readonly text?: string
  readonly reasoning?: string
  /** `arguments` as a value, or as the exact text to send. */
  readonly toolCalls?: readonly {
    readonly name: string
    readonly arguments?: unknown
    readonly id?: string
  }[]
  /** Pictures in the answer, base64, where the dialect has a place for them. Default type: image/png. */
  readonly images?: readonly { readonly data: string; readonly mediaType?: string }[]
  readonly finish?: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** Sent as it is; nothing else of the script counts but `fault`. Billed as nothing. */
  readonly raw?: {
    readonly status?: number
    /** Default: content-type application/json. */
    readonly headers?: Readonly<Record<string, string>>
    readonly body: string | Uint8Array
  }
  /** A fault as in `model#fault`, when the request asks for none. */
  readonly fault?: string
  /** How many requests it answers; then it is gone. Default: all. */
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

/** Scripts in force. The one added last is asked first. */
export class Scripts {
  #entries: Entry[] = []

  /** Throws ScriptError for what could not be answered as it is written. */
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
