/** What vendors say that they charged, by day and model: their cost reports, read page by page. */

import { download } from '../config/prices/download.ts'
import { scaleDecimal } from '../lib/text.ts'

/** One sum of a vendor's report, or of the ledger. */
export interface DailyCost {
  /** 2026-11-21, in UTC. */
  readonly day: string
  readonly model: string
  readonly nanoUsd: bigint
}

/** Days in UTC as milliseconds since 1970, the first inclusive and the second exclusive. */
export interface ReportSpan {
  readonly fromMs: number
  readonly toMs: number
}

interface VendorReport {
  readonly keyVariable: string
  readonly baseUrl: string
  readonly path: string
  query(span: ReportSpan): Readonly<Record<string, string>>
  headers(key: string): Readonly<Record<string, string>>
  costs(bucket: Bucket): DailyCost[]
}

interface Bucket {
  readonly start_time?: unknown
  readonly starting_at?: unknown
  readonly results?: unknown
}

const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** By the names of providers. */
export const vendorReports: Readonly<Record<string, VendorReport>> = {
  // platform.openai.com/docs/api-reference/usage/costs, 2026-11-23: `amount.value` in dollars.
  openai: {
    keyVariable: 'OPENAI_ADMIN_KEY',
    baseUrl: 'https://api.openai.com',
    path: '/v1/organization/costs',
    query: ({ fromMs, toMs }) => ({
      start_time: String(fromMs / 1000),
      end_time: String(toMs / 1000),
      bucket_width: '1d',
      'group_by[]': 'line_item',
      limit: '180',
    }),
    headers: key => ({ authorization: `Bearer ${key}` }),
    costs: ({ start_time: start, results }) =>
      objects(results).map(one => ({
        day: isoDay(Number(start) * 1000),
        // `gpt-4o-2024-08-06, input`
        model: String(one.line_item ?? 'other').split(', ', 1)[0]!,
        nanoUsd: nanoUsdOf((one.amount as { value?: unknown } | undefined)?.value, 9),
      })),
  },
  // platform.claude.com/docs/en/api/admin/cost_report, 2026-11-23: `amount` in cents, as decimal text.
  anthropic: {
    keyVariable: 'ANTHROPIC_ADMIN_API_KEY',
    baseUrl: 'https://api.anthropic.com',
    path: '/v1/organizations/cost_report',
    query: ({ fromMs, toMs }) => ({
      starting_at: new Date(fromMs).toISOString(),
      ending_at: new Date(toMs).toISOString(),
      bucket_width: '1d',
      'group_by[]': 'description',
      limit: '31',
    }),
    headers: key => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    costs: ({ starting_at: start, results }) =>
      objects(results).map(one => ({
        day: isoDay(Date.parse(String(start))),
        model: String(one.model ?? one.cost_type ?? 'other'),
        nanoUsd: nanoUsdOf(one.amount, 7),
      })),
  },
}

const pagesMax = 500
const reportBytesMax = 16 * 1024 * 1024

/** Throws when the vendor refuses, and when an answer is no report. */
export async function vendorCosts(
  vendor: VendorReport,
  request: { readonly key: string; readonly span: ReportSpan; readonly baseUrl?: string | undefined },
): Promise<DailyCost[]> {
  const found: DailyCost[] = []
  let page: string | undefined
  for (let pages = 0; pages < pagesMax; pages++) {
    const url = new URL(vendor.path, request.baseUrl ?? vendor.baseUrl)
    for (const [name, value] of Object.entries(vendor.query(request.span))) url.searchParams.append(name, value)
    if (page !== undefined) url.searchParams.append('page', page)
    const text = (await download(url.href, reportBytesMax, vendor.headers(request.key))).toString('utf8')
    const { data, has_more: more, next_page: next } = reportIn(text, url.host)
    found.push(...objects(data).flatMap(bucket => vendor.costs(bucket)))
    if (more !== true || typeof next !== 'string') return summed(found)
    page = next
  }
  throw new Error(`the report has more than ${pagesMax} pages; ask for fewer days`)
}

function reportIn(text: string, host: string): Record<string, unknown> {
  const report: unknown = JSON.parse(text)
  if (typeof report === 'object' && report !== null && 'data' in report && Array.isArray(report.data))
    return { ...report }
  throw new Error(`${host} did not answer with a cost report: ${text.slice(0, 300)}`)
}

const objects = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'object' && one !== null) : []

/** Of a number or decimal text with so many digits to a nano-dollar. Throws for anything else. */
function nanoUsdOf(value: unknown, digits: number): bigint {
  const text = String(value)
  if (!/^-?\d{1,12}(\.\d{1,30})?(e[+-]?\d{1,2})?$/i.test(text))
    throw new Error(`a cost report has an amount that is no number: ${text.slice(0, 100)}`)
  // A credit: rounded as a charge is.
  return text.startsWith('-') ? -scaleDecimal(text.slice(1), digits) : scaleDecimal(text, digits)
}

/** One a day and model. */
function summed(costs: readonly DailyCost[]): DailyCost[] {
  const sums = new Map<string, DailyCost>()
  for (const one of costs) {
    const name = `${one.day} ${one.model}`
    sums.set(name, { ...one, nanoUsd: (sums.get(name)?.nanoUsd ?? 0n) + one.nanoUsd })
  }
  return [...sums.values()]
}
