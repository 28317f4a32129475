/** What the endpoints of keys, teams, users and the like share: pages, cursors, refusals. */
import { z } from 'zod'
import { shownKey } from '../../access/fields/key-fields.ts'
import { spendingProblem } from '../../access/fields/spending.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { keyRecordFields } from '../../core/tenancy/field-tables.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import type { PageQuery } from '../../core/tenancy/tenancy-store.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { systemClock } from '../../lib/clock.ts'
import { lazy } from '../../lib/lazy.ts'
import { fieldSchemas } from '../openapi/field-schemas.ts'
import { boolean, described, integer, named, nullable, number, shape, text } from '../openapi/schema.ts'
import type { ValueOf } from '../openapi/schema.ts'

/** The parameters of a list in pages: `cursor` takes the place of `page`. */
export const pageQueryFields = ({ most, usual }: { readonly most: number; readonly usual: number }) => ({
  page: z.coerce.number().int().min(1).default(1),
  page_size: z.coerce.number().int().min(1).max(most).default(usual),
  cursor: cursorField(),
})

/** The cursor of a page; it takes the place of `page`. */
export const cursorField = lazy(() =>
  z.string().max(500).optional().describe('The `next_cursor` of the page before, which takes the place of `page`.'),
)

interface Stamp {
  readonly createdAtMs: number
  readonly id: string
}

/** Names the last object of a page; null = there is no further page. */
export function nextCursor(items: readonly Stamp[], limit: number): string | null {
  const last = items.at(-1)
  if (!last || items.length < limit) return null
  return Buffer.from(`${last.createdAtMs}:${last.id}`).toString('base64url')
}

/** What `pageFields` returns: the properties of a schema. */
export const pageFieldSchemas = {
  total: described('How many there are on all pages.', integer),
  page: described('The number of this page; the first is 1.', integer),
  page_size: described('How many a page has at most.', integer),
  total_pages: described('How many pages there are.', integer),
  next_cursor: described('Send it as `cursor` for the next page; null = there is none.', nullable(text)),
}

/** The fields of a page beside its objects: counted over all pages, with the cursor of the next one. */
export function pageFields({ items, total }: { items: readonly Stamp[]; total: number }, page: number, size: number) {
  return {
    total,
    page,
    page_size: size,
    total_pages: Math.ceil(total / size),
    next_cursor: nextCursor(items, size),
  }
}

/** What `page` or `cursor` ask for. Throws 422 for a cursor that is none. */
export function pageOf(page: number, limit: number, cursor: string | undefined): PageQuery & { offset: number } {
  if (cursor === undefined) return { limit, offset: (page - 1) * limit }
  const found = /^(\d{1,15}):(.{1,255})$/s.exec(Buffer.from(cursor, 'base64url').toString())
  if (!found) throw unprocessable([{ loc: ['query', 'cursor'], msg: 'is no `next_cursor` of a page', type: 'invalid' }])
  return { limit, offset: 0, after: { createdAtMs: Number(found[1]), id: found[2]! } }
}

/** A refusal that says what would be needed. */
export function forbidden(why: string, param?: string): GatewayError {
  return new GatewayError('forbidden', why, { param })
}

/** The error for an id that no deployment has; `param` names the field or parameter. */
export function noSuchModel(id: string, param = 'model_id'): GatewayError {
  return new GatewayError('not-found', `no model has the id '${id.slice(0, 200)}'; GET /model/info lists them`, {
    param,
  })
}

/** The error for a key that does not exist, for callers that may see every key. */
export function noSuchKey(): GatewayError {
  return new GatewayError('not-found', 'there is no such key; GET /key/list lists them', { param: 'key' })
}

/** The same for what does not exist and what is not the caller's: neither can be distinguished from the other. */
export function absent(kind: string, param: string): GatewayError {
  return new GatewayError('not-found', `there is no such ${kind}, or it is not yours`, { param })
}

/** A 422 for one field of the body. */
export function wrongField(field: string, msg: string): GatewayError {
  return unprocessable([{ loc: ['body', field], msg, type: 'invalid' }])
}

/** The dollars spent by each object: numbers, 0 for those without a call. */
export async function spentBy(
  { tenancy }: Services,
  kind: Parameters<Services['tenancy']['spend']>[0],
  ids: readonly string[],
): Promise<(id: string) => number> {
  const spent = await tenancy.spend(kind, ids)
  return id => Number(spent.get(id) ?? 0n) / 1e9
}

/** The fields as they would stand, if those of them that only work together do. `before`: of a change. Throws 422. */
export function checkedSpending<Fields extends Partial<SpendingFields>>(
  fields: Fields,
  before: Partial<SpendingFields> = {},
): Fields {
  const problem = spendingProblem(fields, { before, nowMs: systemClock.epochMs() })
  if (problem) throw wrongField(problem.field, problem.msg)
  return fields
}

/** The schema allows what an object has spent. */
export const spendSchema = described('Dollars that all of its calls have cost.', number)

/** A key as the API shows it: the properties of a schema. */
export const shownKeyFields = () => ({
  ...fieldSchemas(keyRecordFields),
  auto_rotate: described('true = the text has to be replaced each `rotation_interval`.', boolean),
  spend: spendSchema,
})
/** The schema allows a key without its text. */
export const keySchema = named('Key', () => shape(shownKeyFields()))

/** Keys as lists show them, with the dollars that each has spent. */
export async function shownKeys(services: Services, keys: readonly KeyRecord[]): Promise<ValueOf<typeof keySchema>[]> {
  const ids = keys.map(record => record.id)
  const spent = await spentBy(services, 'key', ids)
  return keys.map(record => ({ ...shownKey(record), spend: spent(record.id) }))
}

/** As `shownKeys`, of one. */
export async function shownKeyWithSpend(services: Services, key: KeyRecord): Promise<ValueOf<typeof keySchema>> {
  const [shown] = await shownKeys(services, [key])
  return shown!
}
