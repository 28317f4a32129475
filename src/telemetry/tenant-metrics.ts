/** Calls, tokens and spending by team, key or the like, where the operator asks for it: bounded in number. */
import type { Settlement } from '../core/call.ts'
import type { Outcome } from '../core/hub/operation.ts'
import type { TenantMetricsSettings } from '../core/settings.ts'
import type { Exposition } from './exposition.ts'

const otherTenants = '_other'

class TenantSeries {
  readonly kind: string
  readonly tenant: string
  readonly name: string
  readonly outcomes = new Map<Outcome, number>()
  inputTokens = 0
  outputTokens = 0
  spendUsd = 0

  constructor(kind: string, tenant: string, name: string) {
    this.kind = kind
    this.tenant = tenant
    this.name = name
  }
}

/** Counters since the start. */
export class TenantMetrics {
  readonly #all = new Map<string, TenantSeries>()
  readonly #counts = new Map<string, number>()

  call(settlement: Settlement, { kinds, max }: TenantMetricsSettings): void {
    for (const kind of kinds) {
      const { key, team, user, organization } = settlement.call.caller
      if (kind === 'key') this.#add(settlement, { kind, id: key.id, name: key.alias ?? '', max })
      else if (kind === 'team' && team) this.#add(settlement, { kind, id: team.id, name: team.alias ?? '', max })
      else if (kind === 'user' && user) this.#add(settlement, { kind, id: user.id, name: '', max })
      else if (kind === 'organization' && organization)
        this.#add(settlement, { kind, id: organization.id, name: organization.alias ?? '', max })
    }
  }

  expose(out: Exposition): void {
    const all = [...this.#all.values()]
    const labels = ({ kind, tenant, name }: TenantSeries) => ({ kind, tenant, name })
    for (const one of all)
      for (const [outcome, count] of one.outcomes)
        out.value('modelgate_tenant_calls_total', { ...labels(one), outcome }, count)
    for (const one of all) {
      out.value('modelgate_tenant_tokens_total', { ...labels(one), direction: 'input' }, one.inputTokens)
      out.value('modelgate_tenant_tokens_total', { ...labels(one), direction: 'output' }, one.outputTokens)
    }
    for (const one of all) out.value('modelgate_tenant_spend_usd_total', labels(one), one.spendUsd)
  }

  #add(
    { outcome, usage, costNanoUsd }: Settlement,
    of: { readonly kind: string; readonly id: string; readonly name: string; readonly max: number },
  ): void {
    const series = this.#seriesOf(of)
    series.outcomes.set(outcome, (series.outcomes.get(outcome) ?? 0) + 1)
    series.inputTokens += usage?.inputTokens ?? 0
    series.outputTokens += usage?.outputTokens ?? 0
    if (costNanoUsd !== null) series.spendUsd += Number(costNanoUsd) / 1e9
  }

  #seriesOf({ kind, id, name, max }: { kind: string; id: string; name: string; max: number }): TenantSeries {
    const known = this.#all.get(`${kind} ${id}`)
    if (known) return known
    const count = this.#counts.get(kind) ?? 0
    if (count >= max) {
      const other = this.#all.get(`${kind} ${otherTenants}`) ?? new TenantSeries(kind, otherTenants, otherTenants)
      this.#all.set(`${kind} ${otherTenants}`, other)
      return other
    }
    const series = new TenantSeries(kind, id, name)
    this.#all.set(`${kind} ${id}`, series)
    this.#counts.set(kind, count + 1)
    return series
  }
}
