/** Compares what a vendor says that it charged with what the ledger says that calls cost there. */
import { nanoUsdToText } from '../pricing/cost.ts'
import type { LedgerDatabase } from '../store/ledger/ledger-database.ts'
import type { Command } from './command.ts'
import { print, table, UsageError } from './command.ts'
import { momentsOf, spanFlags, withLedger } from './ledger.ts'
import { jsonFlag, nonEmpty, text } from './options.ts'
import { vendorCosts, vendorReports } from './vendor-costs.ts'
import type { DailyCost, ReportSpan } from './vendor-costs.ts'
import { dayMs } from '../lib/clock.ts'

const toleranceDefault = 1

/** Exit code 1 when the sums differ by more than the tolerance. */
export const ledgerReconcile: Command = {
  name: 'ledger reconcile',
  summary: "Compare the ledger with a vendor's cost report, by day and model; exit code 1 if they differ",
  flags: {
    ...spanFlags,
    provider: { type: 'string', value: 'NAME', help: `Whose report: ${Object.keys(vendorReports).join(' or ')}` },
    tolerance: { type: 'string', value: 'PERCENT', help: `Of the vendor's sum; default: ${toleranceDefault}` },
    'base-url': { type: 'string', value: 'URL', help: "Instead of the vendor's own address" },
    json: jsonFlag,
  },
  run(input) {
    const { flags, environment } = input
    const provider = text(flags.provider) ?? ''
    const vendor = vendorReports[provider]
    if (!vendor)
      throw new UsageError(`--provider must be one of ${Object.keys(vendorReports).join(', ')}; got '${provider}'`)
    const key = nonEmpty(environment[vendor.keyVariable])
    if (key === undefined)
      throw new UsageError(`set ${vendor.keyVariable} to an admin key of ${provider}: other keys cannot read costs`)
    const tolerance = Number(text(flags.tolerance) ?? toleranceDefault)
    if (!(tolerance >= 0 && tolerance <= 100)) throw new UsageError('--tolerance must be a percentage from 0 to 100')
    if (text(flags.from) === undefined || text(flags.to) === undefined)
      throw new UsageError('--from and --to are needed: vendors report whole days that have ended')
    return withLedger(input, async (ledger, days) => {
      const span = momentsOf(days)
      const theirs = await vendorCosts(vendor, { key, span, baseUrl: text(flags['base-url']) })
      const lines = compared(theirs, await ownCosts(ledger, provider, span))
      const total = lines.reduce((sum, one) => ({ vendor: sum.vendor + one.vendor, ledger: sum.ledger + one.ledger }), {
        vendor: 0n,
        ledger: 0n,
      })
      const off = total.vendor > total.ledger ? total.vendor - total.ledger : total.ledger - total.vendor
      const ok = off * 1_000_000n <= total.vendor * BigInt(Math.round(tolerance * 10_000))
      if (flags.json) print(JSON.stringify({ ok, total: shown(total), days: lines.map(shown) }, null, 2))
      else {
        const rows = [...lines, { day: 'all', model: '', ...total }].map(shown)
        print(
          table(
            ['DAY', 'MODEL', 'VENDOR', 'LEDGER', 'DIFFERENCE', 'UNPRICED'],
            rows.map(one => [
              one.day ?? '',
              one.model ?? '',
              one.vendor,
              one.ledger,
              one.difference,
              String(one.unpriced ?? ''),
            ]),
          ),
        )
      }
      return ok ? 0 : 1
    })
  },
}

interface ComparedCosts {
  readonly day?: string
  readonly model?: string
  readonly vendor: bigint
  readonly ledger: bigint
  /** Calls of the ledger whose cost is not known. */
  readonly unpriced?: number
}

/** In dollars, as decimal text. */
function shown({ vendor, ledger, ...one }: ComparedCosts) {
  const difference = ledger - vendor
  const usd = (nanoUsd: bigint) => (nanoUsd < 0n ? `-${nanoUsdToText(-nanoUsd)}` : nanoUsdToText(nanoUsd))
  return { ...one, vendor: usd(vendor), ledger: usd(ledger), difference: usd(difference) }
}

interface OwnCost extends DailyCost {
  readonly unpriced: number
}

function compared(theirs: readonly DailyCost[], ours: readonly OwnCost[]): ComparedCosts[] {
  const nameOf = ({ day, model }: { day: string; model: string }) => `${day} ${model}`
  const [vendor, ledger] = [
    new Map(theirs.map(one => [nameOf(one), one])),
    new Map(ours.map(one => [nameOf(one), one])),
  ]
  const names = [...new Set([...vendor.keys(), ...ledger.keys()])].sort()
  return names.map(name => {
    const { day, model } = (vendor.get(name) ?? ledger.get(name))!
    const own = ledger.get(name)
    return {
      day,
      model,
      vendor: vendor.get(name)?.nanoUsd ?? 0n,
      ledger: own?.nanoUsd ?? 0n,
      unpriced: own?.unpriced ?? 0,
    }
  })
}

/** What the vendor charges by the price list, without the terms of callers. */
async function ownCosts(ledger: LedgerDatabase, provider: string, { fromMs, toMs }: ReportSpan): Promise<OwnCost[]> {
  const day = `cast(started_at_ms / ${dayMs} as bigint)`
  const rows = await ledger.select({
    text: `select ${day} as day, coalesce(upstream_model, '') as model,
        cast(sum(coalesce(list_cost_nano_usd, cost_nano_usd, 0)) as text) as cost,
        sum(case when cost_nano_usd is null and attempts > 0 then 1 else 0 end) as unpriced
      from ledger where provider = $1 and started_at_ms >= $2 and started_at_ms < $3 group by 1, 2`,
    values: [provider, fromMs, toMs],
  })
  return rows.map(row => ({
    day: new Date(Number(row.day) * dayMs).toISOString().slice(0, 10),
    model: String(row.model),
    nanoUsd: BigInt(String(row.cost)),
    unpriced: Number(row.unpriced),
  }))
}
