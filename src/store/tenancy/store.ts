/** The store of tenancy: objects, memberships and keys, changed in transactions that keep the audit log. */
import { GatewayError } from '../../core/errors.ts'
import type { TenancyReader, TenancyStore } from '../../core/tenancy/tenancy-store.ts'
import type { Clock } from '../../lib/clock.ts'
import { transactionInTime, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { listAudit } from './audit.ts'
import { checkActor } from './acting.ts'
import { lockRevision } from './changes.ts'
import type { Subject } from './changes.ts'
import { usesOfGuardrail } from './guardrail-uses.ts'
import { createReader, listTenants } from './reader.ts'
import { spentOf } from './spend.ts'
import { SqlTransaction } from './transaction.ts'
import { errorCode, sqlState } from '../../lib/error-code.ts'

interface TenancyStoreOptions {
  readonly database: Database
  /** That of all replicas: a budget that is set back begins a period then. */
  readonly clock: Pick<Clock, 'epochMs'>
  /** Called after each commit, with what has changed, and the newest revision of it. */
  onChange?(subjects: readonly Subject[], revision: number): void
}

type Available = <T>(work: () => Promise<T>) => Promise<T>

/** Over the tables of migration 8 and `virtual_keys`. */
export function createTenancyStore({ database, clock, onChange }: TenancyStoreOptions): TenancyStore {
  const { sql } = database
  const reader = createReader(sql)
  const available: Available = work => whileAvailable(database, 'keys, teams and users', work)
  return {
    ...whenAvailable(reader, available),
    list: (kind, filter, page) => available(() => listTenants(sql, kind, filter, page)),
    usesOfGuardrail: (guardrail, limit) => available(() => usesOfGuardrail(sql, guardrail, limit)),
    audit: query => available(() => listAudit(sql, query)),
    spend: (kind, ids) => available(() => spentOf(sql, kind, ids)),
    async change(actor, work) {
      let made: SqlTransaction | undefined
      const done = await available(() =>
        transactionInTime(database, async tx => {
          await lockRevision(tx, database.kind)
          const nowMs = clock.epochMs()
          await checkActor(tx, database.kind, actor, nowMs)
          made = new SqlTransaction(tx, actor, nowMs)
          return work(made)
        }),
      ).catch((thrown: unknown) => {
        throw explained(thrown)
      })
      if (made && made.changed.length > 0) onChange?.(made.changed, made.revision)
      return done
    },
  }
}

function whenAvailable(reader: TenancyReader, available: Available): TenancyReader {
  return {
    find: (kind, id) => available(() => reader.find(kind, id)),
    findAll: (kind, ids) => available(() => reader.findAll(kind, ids)),
    isUnused: kind => available(() => reader.isUnused(kind)),
    usersByEmail: email => available(() => reader.usersByEmail(email)),
    usersBySsoId: id => available(() => reader.usersBySsoId(id)),
    identityLink: of => available(() => reader.identityLink(of)),
    identityLinksOf: userId => available(() => reader.identityLinksOf(userId)),
    hasPassword: userId => available(() => reader.hasPassword(userId)),
    identityRemoval: of => available(() => reader.identityRemoval(of)),
    search: (kind, condition, limit) => available(() => reader.search(kind, condition, limit)),
    memberships: of => available(() => reader.memberships(of)),
    membersRevisions: teamIds => available(() => reader.membersRevisions(teamIds)),
    findKey: by => available(() => reader.findKey(by)),
    findKeyOfText: hash => available(() => reader.findKeyOfText(hash)),
  }
}

/** A key text of the client's own choice may be that of another key, and so be refused by the unique hash. */
function explained(thrown: unknown): unknown {
  if (sqlState(thrown) !== '23505' && !/^SQLITE_CONSTRAINT/.test(errorCode(thrown))) return thrown
  return new GatewayError('conflict', 'an object with this id or key exists already; choose another', { cause: thrown })
}
