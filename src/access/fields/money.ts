/** Dollars as clients write them. */
import { z } from 'zod'
import { nanoUsdToText } from '../../pricing/cost.ts'
import { lazy } from '../../lib/lazy.ts'

/** A billion dollars: in nano-dollars it fits 64 bits. */
const dollarsMax = 1_000_000_000
const text = `must be an amount of dollars from 0 to ${dollarsMax}`

/** A number, or its text, as nano-dollars. `''` is null, as forms send it. */
export const dollars = lazy(() =>
  z
    .union([z.number(text), z.string(text)], text)
    .nullable()
    .transform((value, context) => {
      if (value === null || value === '') return null
      const nano = typeof value === 'string' ? fromText(value) : fromNumber(value)
      if (nano !== undefined && nano <= BigInt(dollarsMax) * 1_000_000_000n) return nano
      context.addIssue({ code: 'custom', message: text })
      return z.NEVER
    }),
)

function fromText(value: string): bigint | undefined {
  const found = /^(\d{1,10})(?:\.(\d{1,9}))?$/.exec(value.trim())
  return found ? BigInt(found[1]! + (found[2] ?? '').padEnd(9, '0')) : undefined
}

/** The digits that the number stands for, rounded to nano-dollars. */
function fromNumber(value: number): bigint | undefined {
  if (!(value >= 0 && value <= dollarsMax)) return undefined
  return BigInt(value.toFixed(9).replace('.', ''))
}

/** Nano-dollars as the number of dollars that LiteLLM shows. */
export const dollarsOf = (nanoUsd: bigint | null): number | null =>
  nanoUsd === null ? null : Number(nanoUsdToText(nanoUsd))
