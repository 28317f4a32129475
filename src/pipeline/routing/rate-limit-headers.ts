/**
 * The rate limits that providers give in the headers of their answers: OpenAI's `x-ratelimit-...`, which Azure, Groq
 * and others have too (developers.openai.com, "Rate limits", "Rate limits in headers"), and Anthropic's
 * `anthropic-ratelimit-...` (platform.claude.com/docs/en/api/rate-limits, "Response headers").
 */
import type { UpstreamRateLimit, RateLimitKind } from '../../core/upstream-notes.ts'
import { dayMs } from '../../lib/clock.ts'

type Header = (name: string) => string | undefined

const openaiKinds: readonly RateLimitKind[] = ['requests', 'tokens']
const anthropicKinds: readonly RateLimitKind[] = ['requests', 'tokens', 'input_tokens', 'output_tokens']

/** The names of the three headers of each limit; made once. */
const openaiNames = openaiKinds.map(kind => ({ kind, ...namesOf(part => `x-ratelimit-${part}-${kind}`) }))
const anthropicNames = anthropicKinds.map(kind => ({
  kind,
  ...namesOf(part => `anthropic-ratelimit-${kind.replace('_', '-')}-${part}`),
}))

function namesOf(name: (part: string) => string) {
  return { limit: name('limit'), remaining: name('remaining'), reset: name('reset') }
}

/** Empty = the answer had none. `nowMs` is the time of the answer, in milliseconds since 1970. */
export function rateLimitsIn(header: Header, nowMs: number): UpstreamRateLimit[] {
  for (const names of [openaiNames, anthropicNames]) {
    const limits = names.flatMap(one => limitIn(header, one, nowMs))
    if (limits.length > 0) return limits
  }
  return []
}

function limitIn(header: Header, names: (typeof openaiNames)[number], nowMs: number): UpstreamRateLimit[] {
  const limit = countOf(header(names.limit))
  const remaining = countOf(header(names.remaining))
  if (limit === null && remaining === null) return []
  return [{ kind: names.kind, limit, remaining, resetsAtMs: timeOf(header(names.reset), nowMs) }]
}

/** A count that no account has is a mistake of the upstream, and not shown. */
function countOf(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return null
  return Number(text)
}

/** A limit that comes back later is a mistake of the upstream. */
const aheadMsMax = 31 * dayMs
const unitsMs: Readonly<Record<string, number>> = { d: dayMs, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** `6m0s`, `120ms`, `12.5` (seconds), or a time in RFC 3339. */
function timeOf(text: string | undefined, nowMs: number): number | null {
  if (text === undefined || text.length > 40) return null
  const atMs = text.includes('T') ? Date.parse(text) : nowMs + durationMs(text)
  return Number.isFinite(atMs) && atMs <= nowMs + aheadMsMax ? Math.round(atMs) : null
}

function durationMs(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)]
  if (parts.length === 0 || parts.map(one => one[0]).join('') !== text) return Number.NaN
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitsMs[unit!]!, 0)
}
