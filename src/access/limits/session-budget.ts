/** What the calls of one session may cost together: as the key says, or less, as the client says. */
import type { Caller } from '../../core/caller.ts'
import { unprocessable } from '../../core/errors.ts'
import type { RequestHeaders } from '../../core/request.ts'
import { sealingTenantOf } from '../../core/sealed-item.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { dollars } from '../fields/money.ts'
import type { LimitOwner } from './limit-scopes.ts'

/** In dollars. */
const sessionBudgetHeader = 'x-proxy-session-budget'

/** Amounts whose fields are kept, so that what is compiled from them is found again. */
const amountsMax = 1000

/** What of a call says which session it is of, and what that may cost. */
interface SessionCall {
  readonly caller: Caller
  readonly sessionId?: string | null
  readonly headers?: RequestHeaders | undefined
}

/** Whether the sessions of the call have a budget. */
export function hasSessionBudget({ caller, headers }: SessionCall): boolean {
  return caller.key.maxBudgetPerSessionNanoUsd != null || headers?.has(sessionBudgetHeader) === true
}

/**
 * The budget of the call's session; undefined = it has none. The header can only lower what the key says. Throws
 * `unprocessable` for a header that is no amount, or that stands without a session.
 */
export function sessionLimits({ caller, headers, sessionId = null }: SessionCall): LimitOwner | undefined {
  const asked = headers?.get(sessionBudgetHeader) ?? null
  const ofClient = asked === null ? null : checkedAmount(asked)
  const ofKey = caller.key.maxBudgetPerSessionNanoUsd
  if (sessionId === null) {
    if (ofClient !== null) throw refused('names no session; send `x-proxy-session-id` beside it')
    return undefined
  }
  const nanoUsd = ofKey === null || (ofClient !== null && ofClient < ofKey) ? ofClient : ofKey
  if (nanoUsd === null) return undefined
  return { id: `session:${sealingTenantOf(caller)}/${sessionId}`, fields: fieldsOf(nanoUsd) }
}

const refused = (msg: string) => unprocessable([{ loc: ['header', sessionBudgetHeader], msg, type: 'invalid' }])

function checkedAmount(text: string): bigint {
  const { data } = dollars().safeParse(text)
  if (text.trim() !== '' && typeof data === 'bigint') return data
  throw refused('must be an amount of dollars, such as 2.50')
}

const known = new Map<bigint, SpendingFields>()

function fieldsOf(nanoUsd: bigint): SpendingFields {
  const found = known.get(nanoUsd)
  if (found) return found
  if (known.size >= amountsMax) known.clear()
  const made = { ...unlimited, maxBudgetNanoUsd: nanoUsd }
  known.set(nanoUsd, made)
  return made
}
