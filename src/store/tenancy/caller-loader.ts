/** Reads what callers are compiled from. Users, teams and the like are shared by all callers that belong to them. */
import { compileCaller, withBudget } from '../../access/caller.ts'
import { tagsOfKey } from '../../access/key.ts'
import { bareKey, serviceAccountKeyId, userKeyId } from '../../core/caller.ts'
import type { Caller, VirtualKey } from '../../core/caller.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import type { Membership, SpendingFields, TenantKind, Tenants } from '../../core/tenancy/tenancy.ts'
import type { TenancyReader, TenantDirectory } from '../../core/tenancy/tenancy-store.ts'
import { DependentCache } from '../../lib/dependent-cache.ts'
import { isKeyHash } from '../sign-in/principals.ts'
import { keySubject, masterSessionsSubject, tenantSubject } from './changes.ts'
import type { Subject } from './changes.ts'

const tenantsMax = 50_000

/** One object as it was found; `value` undefined = it was not there. */
interface LoadedTenant {
  readonly value: Tenants[TenantKind] | undefined
  /** Of a user. */
  readonly memberships: readonly Membership[]
  /** The named budgets that are filled in. */
  readonly budgetIds: readonly string[]
  /** There is no object of this kind. */
  readonly kindUnused?: boolean
}

/** Loads callers, and the customers and tags that calls name. `drop` has to be called on every change. */
export class CallerLoader implements TenantDirectory {
  readonly #reader: TenancyReader
  readonly #found: DependentCache<LoadedTenant>
  readonly #loading = new Map<Subject, Promise<LoadedTenant>>()
  /**
   * Kinds of which nothing is stored: clients send the ids of end users and tags with every call, and a gateway without
   * any of them does not ask the database about each.
   */
  readonly #unused = new Set<TenantKind>()
  #generation = 0

  constructor(reader: TenancyReader) {
    this.#reader = reader
    this.#found = new DependentCache(tenantsMax, (subject, found) => [subject, ...found.budgetIds.map(budgetSubject)])
  }

  /** undefined = everything may have changed. */
  drop(subjects: readonly Subject[] | undefined): void {
    this.#generation++
    this.#loading.clear()
    if (!subjects) {
      this.#found.clear()
      this.#unused.clear()
      return
    }
    for (const subject of subjects) {
      this.#found.drop(subject)
      this.#unused.delete(subject.slice(0, subject.indexOf(':')) as TenantKind)
    }
  }

  lookup<Kind extends 'customer' | 'tag' | 'budget'>(
    kind: Kind,
    id: string,
  ): Tenants[Kind] | undefined | Promise<Tenants[Kind] | undefined> {
    if (this.#unused.has(kind)) return undefined
    const found = this.#get(kind, id)
    type Value = Tenants[Kind] | undefined
    return found instanceof Promise ? found.then(({ value }) => value as Value) : (found.value as Value)
  }

  /** The caller with the key of this hash; undefined = there is no such key. */
  async load(hash: string): Promise<Caller | undefined> {
    const record = await this.#reader.findKeyOfText(hash)
    return record && this.compile(record)
  }

  /** A user without a key, in a team where one is named; undefined = there is no such user. */
  async loadUser(userId: string, teamId: string | null = null): Promise<Caller | undefined> {
    const caller = await this.compile({ ...bareKey, id: userKeyId(userId), userId, teamId })
    return caller.user && caller
  }

  /** A service account of a team, which has no key; undefined = there is no such team. */
  async loadServiceAccount(name: string, teamId: string): Promise<Caller | undefined> {
    const caller = await this.compile({ ...bareKey, id: serviceAccountKeyId(name), alias: name, teamId })
    return caller.team && caller
  }

  async compile(record: VirtualKey): Promise<Caller> {
    const [key, user, team] = await Promise.all([
      this.#withBudget(record),
      this.#tenant('user', record.userId),
      this.#tenant('team', record.teamId),
    ])
    const organizationId = record.organizationId ?? team?.organizationId ?? null
    const tagNames = [...new Set([...tagsOfKey(record), ...(team?.tags ?? [])])]
    const [organization, memberships, ...tags] = await Promise.all([
      this.#tenant('organization', organizationId),
      user ? this.#get('user', user.id) : undefined,
      ...tagNames.map(name => this.#tenant('tag', name)),
    ])
    return compileCaller({
      key,
      user,
      team,
      organization,
      memberships: memberships?.memberships,
      tags: tags.filter(tag => tag !== undefined),
    })
  }

  async #tenant<Kind extends TenantKind>(kind: Kind, id: string | null): Promise<Tenants[Kind] | undefined> {
    return id === null ? undefined : ((await this.#get(kind, id)).value as Tenants[Kind] | undefined)
  }

  #get(kind: TenantKind, id: string): LoadedTenant | Promise<LoadedTenant> {
    const subject = tenantSubject(kind, id)
    return this.#found.get(subject) ?? this.#loading.get(subject) ?? this.#read(kind, id, subject)
  }

  async #read(kind: TenantKind, id: string, subject: Subject): Promise<LoadedTenant> {
    const generation = this.#generation
    const loading = this.#find(kind, id)
    this.#loading.set(subject, loading)
    try {
      const found = await loading
      // Something changed meanwhile: the answer is for this question only.
      if (generation === this.#generation) this.#found.set(subject, found)
      if (found.kindUnused && generation === this.#generation) this.#unused.add(kind)
      return found
    } finally {
      if (this.#loading.get(subject) === loading) this.#loading.delete(subject)
    }
  }

  async #find(kind: TenantKind, id: string): Promise<LoadedTenant> {
    const value = await this.#reader.find(kind, id)
    if (!value) return { value, memberships: [], budgetIds: [], kindUnused: await this.#reader.isUnused(kind) }
    const rows = kind === 'user' ? await this.#reader.memberships({ userId: id }) : []
    const budgetIds = [...new Set([value, ...rows].flatMap(({ budgetId }) => (budgetId === null ? [] : [budgetId])))]
    const budgets = new Map((await this.#reader.findAll('budget', budgetIds)).map(budget => [budget.id, budget]))
    const effective = <Fields extends SpendingFields>(own: Fields) => withBudget(own, budgets.get(own.budgetId ?? ''))
    return { value: effective(value), memberships: rows.map(effective), budgetIds }
  }

  async #withBudget<Fields extends SpendingFields>(own: Fields): Promise<Fields> {
    return withBudget(own, await this.#tenant('budget', own.budgetId))
  }
}

const budgetSubject = (id: string): Subject => tenantSubject('budget', id)

/** Everything that a caller was compiled from: also objects that it names and that are not stored yet. */
export function subjectsOf(
  name: string,
  { key, user, team, organization, memberships = [], tags = [], session }: Caller,
): Subject[] {
  if (session?.userId === null) return [masterSessionsSubject]
  const parts: [TenantKind, string | null | undefined][] = [
    ['user', key.userId],
    ['team', key.teamId],
    ['organization', key.organizationId ?? team?.organizationId],
    ...[key, user, team, organization, ...memberships, ...tags].map((part): [TenantKind, string | null | undefined] => [
      'budget',
      part?.budgetId,
    ]),
    ...[...tagsOfKey(key), ...(team?.tags ?? [])].map((name): [TenantKind, string] => ['tag', name]),
  ]
  const named = parts.flatMap(([kind, id]) => (id === null || id === undefined ? [] : [tenantSubject(kind, id)]))
  if (!isKeyHash(name)) return [...new Set(named)]
  // With the text before, it depends on the present one: changes of the key report that.
  const { hash: present = name } = key as Partial<KeyRecord>
  return [...new Set([keySubject(name), keySubject(present), ...named])]
}

/**
 * The newest change of a subject that the caller was read with; undefined = not known. Of a session, which is read
 * before its user, it is not.
 */
export function versionOf(subject: Subject, { key, user, team, organization, session }: Caller): number | undefined {
  if (session) return undefined
  switch (subject.slice(0, subject.indexOf(':'))) {
    case 'key':
      return (key as Partial<KeyRecord>).version
    case 'user':
      return user?.version
    case 'team':
      return team?.version
    case 'organization':
      return organization?.version
    default:
      return undefined
  }
}
