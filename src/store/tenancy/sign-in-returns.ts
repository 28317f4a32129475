/** Sign-ins that came back from an identity provider: none of them comes back twice, at any replica. */
import type { SQL } from 'bun'
import type { RefusedSignIn, SignInReturns } from '../../core/sign-in/identity-providers.ts'
import { signInActor } from '../../core/tenancy/actors.ts'
import type { Clock } from '../../lib/clock.ts'
import { transactionUnsynced, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { writeAudit } from './audit.ts'

/** Over the table of migration 25. Rows are deleted by the sign-ins after them, once their time is over. */
export function createSignInReturns(database: Database, clock: Pick<Clock, 'epochMs'>): SignInReturns {
  const take = async (tx: SQL, state: string, endMs: number): Promise<boolean> => {
    await tx`delete from sign_in_returns where end_ms < ${clock.epochMs()}`
    const rows = (await tx`insert into sign_in_returns (state, end_ms) values (${state}, ${endMs})
      on conflict (state) do nothing returning state`) as unknown[]
    return rows.length === 1
  }
  const refused = (tx: SQL, { provider, reason, clientAddress, userAgent }: RefusedSignIn): Promise<void> =>
    writeAudit(tx, {
      atMs: clock.epochMs(),
      actor: signInActor(provider),
      action: 'sign-in-refused',
      kind: 'session',
      objectId: provider,
      before: null,
      after: { method: 'sso', reason: plain(reason), client_address: clientAddress, user_agent: plain(userAgent) },
    })
  const written = <T>(work: (tx: SQL) => Promise<T>): Promise<T> =>
    whileAvailable(database, 'sign-ins', () => transactionUnsynced(database, work))
  return {
    take: (state, endMs) => written(tx => take(tx, state, endMs)),
    refused: refusal => written(tx => refused(tx, refusal)),
  }
}

const textLengthMax = 500
/** Postgres refuses a NUL. */
const plain = (text: string): string => text.replaceAll('\0', '').slice(0, textLengthMax).toWellFormed()
