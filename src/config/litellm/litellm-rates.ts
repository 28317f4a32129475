/**
 * `rpm` and `tpm` of LiteLLM's deployments. They share the calls of a model where its deployments have no `weight`: an
 * account of 1000 requests a minute gets ten times as many as one of 100. Where calls are checked before they are sent,
 * and by usage-based strategies, they are limits; these strategies do not share by them.
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Finding } from '../reading/reading.ts'

const rates = ['rpm', 'tpm'] as const
type RateName = (typeof rates)[number]
/** No limit of the schema is higher. */
const rateMax = 1_000_000_000

type Entry = Readonly<Record<string, unknown>>

/** In our names, with weights from rates, each of them reported, and with limits. */
export function withRates(file: unknown, warnings: Finding[]): unknown {
  if (!isObject(file) || !Array.isArray(file.model_list)) return file
  const router = isObject(file.router_settings) ? file.router_settings : {}
  const isUsageBased = String(router.routing_strategy).startsWith('usage-based-routing')
  const isLimit = isUsageBased || checksBeforeCalls(router)
  const models = file.model_list as unknown[]
  const groups = Map.groupBy(models, entry => (isObject(entry) ? entry.model_name : undefined))
  const rateOf = new Map([...groups].map(([name, group]) => [name, isUsageBased ? undefined : sharedRate(group)]))
  const list = models.map((entry, at) => {
    if (!isObject(entry)) return entry
    const shared = rateOf.get(entry.model_name)
    if (shared && !isLimit)
      warnings.push({ path: ['model_list', at, 'proxy_params', shared.name], message: asWeight, atKey: true })
    const limited = isLimit ? withLimits(entry) : entry
    return shared
      ? withWeight(limited, (paramsOf(entry)[shared.name] as number) / shared.largest, shared.name)
      : limited
  })
  return { ...file, model_list: list }
}

const asWeight = 'shares calls here as `weight` would, and is no limit; `rpm_limit` and `tpm_limit` are'

/** Settings by which LiteLLM refuses a deployment that is at its rate. */
function checksBeforeCalls({ enable_pre_call_checks: checks, optional_pre_call_checks: others }: Entry): boolean {
  return checks === true || (Array.isArray(others) && others.includes('enforce_model_rate_limits'))
}

/** The rate that all deployments of a name have; undefined = none, one deployment alone, or weights are given. */
function sharedRate(group: readonly unknown[]): { name: RateName; largest: number } | undefined {
  const params = group.map(paramsOf)
  if (params.length < 2 || params.some(one => one.weight !== undefined)) return undefined
  const name = rates.find(rate => params.every(one => isRate(one[rate])))
  return name && { name, largest: Math.max(...params.map(one => one[name] as number)) }
}

function withWeight(entry: Entry, weight: number, name: RateName): Entry {
  const { [name]: _, ...params } = paramsOf(entry)
  return { ...entry, proxy_params: { ...params, weight } }
}

/** LiteLLM reads limits of the entry itself, then of its parameters, then of what is known about the model. */
function withLimits(entry: Entry): Entry {
  const given = Object.fromEntries(
    rates.flatMap(name => {
      const rate = [entry, paramsOf(entry), infoOf(entry)].map(place => place[name]).find(isRate)
      return rate === undefined ? [] : [[`${name}_limit`, Math.min(Math.max(Math.floor(rate), 1), rateMax)]]
    }),
  )
  if (Object.keys(given).length === 0) return entry
  return {
    ...withoutRates(entry),
    proxy_params: { ...given, ...withoutRates(paramsOf(entry)) },
    ...(isObject(entry.model_info) && { model_info: withoutRates(entry.model_info) }),
  }
}

const withoutRates = ({ rpm: _, tpm: __, ...others }: Entry): Entry => others

const isRate = (value: unknown): value is number => typeof value === 'number' && value > 0 && Number.isFinite(value)

const paramsOf = (entry: unknown): Entry => (isObject(entry) && isObject(entry.proxy_params) ? entry.proxy_params : {})

const infoOf = ({ model_info: info }: Entry): Entry => (isObject(info) ? info : {})
