/**
 * LiteLLM shares the calls of a model by `rpm`, or else by `tpm`, where its deployments have no `weight`: an account of
 * 1000 requests a minute gets ten times as many as one of 100.
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Finding } from './reading.ts'

const rates = ['rpm', 'tpm'] as const

/** In our names, with weights from rates, of which each is told. */
export function withRateWeights(file: unknown, warnings: Finding[]): unknown {
  if (!isObject(file) || !Array.isArray(file.model_list)) return file
  const models = file.model_list as unknown[]
  const groups = Map.groupBy(models, entry => (isObject(entry) ? entry.model_name : undefined))
  const rateOf = new Map([...groups].map(([name, group]) => [name, sharedRate(group)]))
  const list = models.map((entry, at) => {
    const shared = isObject(entry) ? rateOf.get(entry.model_name) : undefined
    if (!shared) return entry
    const { [shared.name]: rate, ...params } = paramsOf(entry)
    warnings.push({ path: ['model_list', at, 'proxy_params', shared.name], message: asWeight, atKey: true })
    return { ...(entry as object), proxy_params: { ...params, weight: (rate as number) / shared.largest } }
  })
  return { ...file, model_list: list }
}

const asWeight =
  'shares calls here as `weight` would, and is no limit: limit keys (`rpm_limit`, `tpm_limit`, `max_parallel_requests`)'

/** The rate that all deployments of a name have; undefined = none, one deployment alone, or weights are given. */
function sharedRate(group: readonly unknown[]): { name: string; largest: number } | undefined {
  const params = group.map(paramsOf)
  if (params.length < 2 || params.some(one => one.weight !== undefined)) return undefined
  const name = rates.find(rate => params.every(one => isRate(one[rate])))
  return name && { name, largest: Math.max(...params.map(one => one[name] as number)) }
}

const isRate = (value: unknown): boolean => typeof value === 'number' && value > 0 && Number.isFinite(value)

function paramsOf(entry: unknown): Record<string, unknown> {
  return isObject(entry) && isObject(entry.proxy_params) ? entry.proxy_params : {}
}
