/** LiteLLM's `disable_cooldowns`: no deployment cools down, also by settings of its own. */
import { isObject } from '../../lib/json/json-values.ts'

/** In our names, where such a file asks for it. */
export function withoutCooldowns(file: unknown): unknown {
  if (!isObject(file) || !isObject(file.router_settings) || file.router_settings.disable_cooldowns !== true) return file
  const { disable_cooldowns: _, ...router } = file.router_settings
  const models = Array.isArray(file.model_list) ? (file.model_list as unknown[]) : undefined
  return {
    ...file,
    router_settings: { ...router, cooldown_time: 0 },
    ...(models && { model_list: models.map(withoutOwn) }),
  }
}

function withoutOwn(entry: unknown): unknown {
  if (!isObject(entry) || !isObject(entry.proxy_params)) return entry
  const { cooldown_time: _, ...params } = entry.proxy_params
  return { ...entry, proxy_params: params }
}
