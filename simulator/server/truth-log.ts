/** What really happened: one entry for every request that arrived, kept to judge bills and attempts by. */

/** `complete`: all that the vendor had to say was handed to the kernel, its terminal event included. */
export type Finish = 'complete' | 'cut' | 'client-closed' | 'refused'

/** What arrived, and what became of it. The fields that can change do so until `finished` is there. */
export interface TruthEntry {
  /** Counts from 1 in the order of arrival. */
  readonly n: number
  readonly method: string
  /** As sent, query included. */
  readonly path: string
  /** As sent, fault suffix included; absent when the request names none. */
  readonly model?: string
  /** All headers by lower-case name; a header that carries a credential says only `present`. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, or the fields of a form, with `{filename, type, bytes}` for a file; else its text; absent when there is none. */
  readonly body?: unknown
  /** Milliseconds since 1970 with fractions; never goes back while the process lives. */
  readonly startedMs: number
  readonly stream: boolean
  /** The fault as it was asked for, e.g. `cut;at=5`. */
  readonly fault?: string
  /** The status that was sent; absent while none was. */
  status?: number
  /** Events of a stream handed to the kernel. */
  eventsSent: number
  /** Tokens handed to the kernel: content, reasoning and argument deltas; all of a whole answer. */
  tokensSent: number
  /** What a vendor would put on the bill: input once an answer began, output as far as it was sent. */
  billable: { inputTokens: number; outputTokens: number }
  /** Absent while the answer goes on. */
  finished?: Finish
  /** When it finished, on the clock of `startedMs`. */
  closedMs?: number
}

/** Sums over the entries that are still kept. `open` = not finished yet. */
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

/** The headers of a request, safe to print. */
export function withoutCredentials(headers: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, credentials.has(name) ? 'present' : value]))
}

/** A path, safe to print: Google's keys may stand in the query. */
export function withoutKey(target: string): string {
  return target.replace(/([?&]key=)[^&]*/g, '$1present')
}

/** Entries beyond this many push out the oldest: a simulator under load runs for hours. */
const entriesMax = 200_000

/**
 * At least the last 200,000 requests. `entries` is the log itself, not a copy. Credentials of headers and queries are
 * never in it.
 */
export class TruthLog {
  /** Oldest first. Entries of answers still going on change. */
  entries: TruthEntry[] = []
  /** Entries that were pushed out. */
  dropped = 0
  /** Requests that were no HTTP; they have no entry. */
  malformed = 0

  /** @internal Only the server writes. */
  add(entry: TruthEntry): void {
    this.entries.push(entry)
    if (this.entries.length < entriesMax + entriesMax / 10) return
    this.dropped += this.entries.length - entriesMax
    this.entries = this.entries.slice(-entriesMax)
  }

  /** @internal The first word counts: an answer ends once. */
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
