/**
 * One documented answer with the bill that the vendor's pricing page makes of it. The amounts are worked out here from
 * figures of the page, in integers, without the gateway's prices or arithmetic.
 */

/** How an answer is worded: which readers read it. */
export type Wording = 'chat' | 'responses' | 'messages' | 'gemini' | 'converse' | 'cohere' | 'images' | 'transcription'

/** One line of a bill: so many units, at so many dollars (decimal text, as on the page) for so many of them. */
export type BillLine = readonly [count: number, dollars: string, per: number]

export interface Bill {
  readonly name: string
  readonly provider: string
  readonly model: string
  readonly wording: Wording
  /** As the vendor sends it, without what does not count. */
  readonly answer: Readonly<Record<string, unknown>>
  /** Fields of the client's body that ask for a kind of service. */
  readonly asked?: Readonly<Record<string, unknown>>
  /** The service tier that the head of the answer names. */
  readonly answeredTier?: string
  /** It is a line of a batch. */
  readonly inBatch?: true
  /** When it was called; absent = 2026-11-23T12:00Z. */
  readonly at?: string
  /** Seconds that it took; absent = 1. */
  readonly seconds?: number
  /** The options of the deployment, and its address. */
  readonly options?: Readonly<Record<string, unknown>>
  readonly baseUrl?: string
  /** The page with the figures, and when it was read; or by which list its figures are known. */
  readonly page: string
  /** Percent of the lines' sum, for a place. */
  readonly percent?: number
  /** null = the vendor's rule does not follow from the answer: the cost has to be unknown. */
  readonly lines: readonly BillLine[] | null
}

/** Dollars for a million tokens. */
export const perMillion = (count: number, dollars: string): BillLine => [count, dollars, 1_000_000]
/** Dollars for a thousand calls. */
export const perThousand = (count: number, dollars: string): BillLine => [count, dollars, 1000]

const nanoDigits = 9
/** More digits than any price has below a nano-dollar for one unit. */
const extraDigits = 15

/** Nano-dollars, rounded half up once. */
export function billNanoUsd({ lines, percent = 100 }: Pick<Bill, 'lines' | 'percent'>): bigint | null {
  if (!lines) return null
  const scale = 10n ** BigInt(extraDigits)
  let sum = 0n
  for (const [count, dollars, per] of lines) {
    const [whole = '0', fraction = ''] = dollars.split('.')
    const digits = BigInt(whole + fraction.padEnd(nanoDigits + extraDigits, '0'))
    sum += (digits * BigInt(Math.round(count * 1e6))) / (1_000_000n * BigInt(per))
  }
  return (sum * BigInt(percent) + 50n * scale) / (100n * scale)
}
