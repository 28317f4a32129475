/** The truth log: one entry for each request received, against which bills and attempts are checked. */

/** `complete`: the kernel has taken all that the vendor would send, terminal event included. */
export type Finish = 'complete' | 'cut' | 'client-closed' | 'refused'

/** A request and its response. Mutable fields change until `finished` is set. */
export interface TruthEntry {
  /** Counts from 1 in order of arrival. */
  readonly n: number
  readonly method: string
  /** As sent, query included. */
  readonly path: string
  /** As sent, fault suffix included; absent when the request names no model. */
  readonly model?: string
  /** All headers by lower-case name; the values of headers that carry credentials are replaced by `present`. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Parsed JSON, or the fields of a form, files as `{filename, type, bytes, sha256}`; otherwise the text; absent when
   * there is no body.
   */
  readonly body?: unknown
  /** Milliseconds since 1970, with fractions; monotonic within the process. */
  readonly startedMs: number
  readonly stream: boolean
  /** The fault as requested, e.g. `cut;at=5`. */
  readonly fault?: string
  /** The status that was sent; absent until then. */
  status?: number
  /** Stream events taken by the kernel. */
  eventsSent: number
  /** Tokens taken by the kernel: content, reasoning and argument deltas; all tokens of a non-streamed response. */
  tokensSent: number
  /** What a vendor would bill: input once a response began, output as far as it was sent. */
  billable: { inputTokens: number; outputTokens: number }
  /** Absent while the response is in progress. */
  finished?: Finish
  /** Time of the end, on the clock of `startedMs`. */
  closedMs?: number
}

/** Sums over the entries still kept. `open` = not finished. */
export interface TruthTotals {
  requests: number
  open: number
  complete: number
  cut: number
  clientClosed: number
  refused: number
  tokensSent: number
  billableInputTokens: number
  billableOutputTokens: number
}

/** The clock of the log, in milliseconds since 1970. */
export function truthNowMs(): number {
  return performance.timeOrigin + performance.now()
}

const credentials = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
  'cookie',
])

/** Request headers with credentials replaced. */
export function withoutCredentials(headers: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, credentials.has(name) ? 'present' : value]))
}

/** A path with credentials replaced: Google's API keys may be in the query. */
export function withoutKey(target: string): string {
  return target.replace(/([?&]key=)[^&]*/g, '$1present')
}

/** Beyond this many entries the oldest are dropped; bounds the memory of a simulator under load. */
const entriesMax = 200_000

/**
 * Keeps at least the last 200,000 requests. `entries` is the log itself, not a copy. Credentials of headers and queries
 * are never in it.
 */
export class TruthLog {
  /** Oldest first. Entries of responses in progress still change. */
  entries: TruthEntry[] = []
  /** Entries that were dropped. */
  dropped = 0
  /** Requests that were not valid HTTP; they have no entry. */
  malformed = 0

  /** @internal For the server only. */
  add(entry: TruthEntry): void {
    this.entries.push(entry)
    if (this.entries.length < entriesMax + entriesMax / 10) return
    this.dropped += this.entries.length - entriesMax
    this.entries = this.entries.slice(-entriesMax)
  }

  /** @internal The first call counts: a response ends once. */
  finish(entry: TruthEntry, how: Finish): void {
    if (entry.finished) return
    entry.finished = how
    entry.closedMs = truthNowMs()
  }

  last(): TruthEntry | undefined {
    return this.entries.at(-1)
  }

  totals(): TruthTotals {
    const count = (how: Finish | undefined) => this.entries.filter(entry => entry.finished === how).length
    const sum = (pick: (entry: TruthEntry) => number) => this.entries.reduce((total, entry) => total + pick(entry), 0)
    return {
      requests: this.entries.length,
      open: count(undefined),
      complete: count('complete'),
      cut: count('cut'),
      clientClosed: count('client-closed'),
      refused: count('refused'),
      tokensSent: sum(entry => entry.tokensSent),
      billableInputTokens: sum(entry => entry.billable.inputTokens),
      billableOutputTokens: sum(entry => entry.billable.outputTokens),
    }
  }

  clear(): void {
    this.entries = []
    this.dropped = 0
    this.malformed = 0
  }

  toJSON(): { entries: TruthEntry[]; totals: TruthTotals; dropped: number; malformed: number } {
    return { entries: this.entries, totals: this.totals(), dropped: this.dropped, malformed: this.malformed }
  }
}
