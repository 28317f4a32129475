/** The parts of a call that `modelgate logs tail` shows, as the API gives them. */
export interface ShownCallRow {
  readonly started_at: string
  readonly model: string
  readonly outcome: string
  readonly http_status: number
  readonly duration_ms: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly spend: number | null
  readonly key_alias?: string | null
  readonly key_id?: string | null
  readonly error_message?: string | null
}

/** One line; what models and clients wrote cannot move the cursor of a terminal. */
export function lineOfCall(row: ShownCallRow): string {
  const tokens = `${row.input_tokens ?? '?'}+${row.output_tokens ?? '?'}`
  const cost = row.spend === null ? 'no price' : `$${row.spend.toFixed(6)}`
  const cells = [
    row.started_at.slice(11, 23),
    String(row.http_status).padStart(3),
    row.outcome.padEnd(12),
    `${Math.round(row.duration_ms)} ms`.padStart(9),
    tokens.padStart(13),
    cost.padStart(12),
    row.model,
    row.key_alias ?? row.key_id ?? '',
    row.error_message ?? '',
  ]
  return cells
    .join('  ')
    .trimEnd()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, sign => `\\u{${sign.codePointAt(0)!.toString(16)}}`)
}
