/**
 * LiteLLM's switches for callers' own credentials, read as `forward_client_credentials`
 * (docs.litellm.ai/docs/proxy/forward_client_headers and /docs/tutorials/claude_code_byok, 2026-10-09). They forward
 * other headers too, which have no function here.
 */
import { isObject } from '../../lib/json/json-values.ts'

type Section = Readonly<Record<string, unknown>>

const switches = ['forward_client_headers_to_llm_api', 'forward_llm_provider_auth_headers'] as const
/** The vendors whose credentials LiteLLM knows by their headers. */
const vendors: readonly string[] = ['anthropic', 'openai', 'gemini', 'azure']
const sections = ['settings', 'general_settings'] as const

/** In our names: the switches are taken out where they are on. */
export function withClientCredentials(file: unknown): unknown {
  if (!isObject(file)) return file
  const out: Record<string, unknown> = { ...file }
  let isOn = false
  for (const name of sections) {
    const section = file[name]
    if (!isObject(section)) continue
    const { isAny, rest } = withoutSwitches(section)
    isOn ||= isAny
    out[name] = rest
  }
  const groups = modelGroups(out.settings)
  if (groups) {
    const { model_group_settings: _, ...rest } = out.settings as Section
    out.settings = rest
    out.model_list = withGroups(out.model_list, groups)
  }
  if (isOn) out.settings = { forward_client_credentials: vendors, ...(isObject(out.settings) && out.settings) }
  return out
}

function withoutSwitches(section: Section): { readonly isAny: boolean; readonly rest: Section } {
  const on = switches.filter(name => section[name] === true)
  return on.length === 0
    ? { isAny: false, rest: section }
    : {
        isAny: true,
        rest: Object.fromEntries(Object.entries(section).filter(([name]) => !on.some(one => one === name))),
      }
}

/** The public names that `model_group_settings` switches it on for; undefined = it has another form, or more in it. */
function modelGroups(settings: unknown): readonly unknown[] | undefined {
  const groups = isObject(settings) ? settings.model_group_settings : undefined
  if (!isObject(groups) || Object.keys(groups).length !== 1) return undefined
  const names = groups[switches[0]]
  return Array.isArray(names) ? names : undefined
}

function withGroups(models: unknown, groups: readonly unknown[]): unknown {
  if (!Array.isArray(models)) return models
  return models.map((entry: unknown) => {
    if (!isObject(entry) || !groups.includes(entry.model_name) || !isObject(entry.proxy_params)) return entry
    const vendor = String(entry.proxy_params.model).split('/')[0]!
    if (!vendors.includes(vendor)) return entry
    return { ...entry, proxy_params: { forward_client_credentials: [vendor], ...entry.proxy_params } }
  })
}
