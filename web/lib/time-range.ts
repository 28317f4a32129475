/** Spans of time as they stand in addresses: `24h`, or `FROM..TO` in milliseconds since 1970. */

export const rangePresets = ['1h', '24h', '7d', '30d'] as const

const hourMs = 3_600_000
const presetMs: Readonly<Record<string, number>> = {
  '1h': hourMs,
  '24h': 24 * hourMs,
  '7d': 168 * hourMs,
  '30d': 720 * hourMs,
}

/** A span of time, in milliseconds since 1970; `toMs` is not part of it. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The span of a range in an address; one that cannot be read is the last 24 hours. */
export function spanOf(range: string, nowMs: number): Span {
  const [fromMs, toMs] = range.split('..').map(Number)
  if (Number.isFinite(fromMs) && Number.isFinite(toMs) && toMs! > fromMs!) return { fromMs: fromMs!, toMs: toMs! }
  return { fromMs: nowMs - (presetMs[range] ?? presetMs['24h']!), toMs: nowMs }
}

/** A range of an address as it is shown: one that cannot be read is the usual one. */
export function readRange(range: string): string {
  const [fromMs, toMs] = range.split('..').map(Number)
  return Object.hasOwn(presetMs, range) || (fromMs !== undefined && toMs !== undefined && toMs > fromMs) ? range : '24h'
}

export const rangeOf = ({ fromMs, toMs }: Span): string => `${Math.round(fromMs)}..${Math.round(toMs)}`
