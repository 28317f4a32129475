/** Secrets that stand in the file itself, where they are shown and stored with it. */
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'
import { modelParamKeys } from '../sections/model-params.ts'

const paramSecrets = Object.entries(modelParamKeys).flatMap(([name, key]) =>
  'secret' in key && key.secret === 'whole' ? [name] : [],
)
const variableOfSecret = /(key|secret|token|password)$/i
/** Shorter texts are stand-ins, as `none` for a server without a key. */
const lengthMin = 16

/** One warning for each, without its value. `value` = the file in our names, with its references. */
export function inlineSecrets(value: unknown): Finding[] {
  if (!isObject(value)) return []
  const found: Finding[] = []
  const look = (path: Path, secret: unknown): void => {
    if (typeof secret !== 'string' || secret.length < lengthMin || isReference(secret)) return
    found.push({ path, message: 'a secret stands in the file itself; set a variable, and write os.environ/NAME here' })
  }
  for (const [at, { proxy_params: params }] of objectsOf(value.model_list).entries())
    if (isObject(params)) for (const key of paramSecrets) look(['model_list', at, 'proxy_params', key], params[key])
  for (const [at, { credential_values: values }] of objectsOf(value.credential_list).entries())
    if (isObject(values))
      for (const key of paramSecrets) look(['credential_list', at, 'credential_values', key], values[key])
  const { general_settings: general, environment_variables: variables } = value
  if (isObject(general)) {
    look(['general_settings', 'master_key'], general.master_key)
    for (const [at, { client_secret: secret }] of objectsOf(general.sso).entries())
      look(['general_settings', 'sso', at, 'client_secret'], secret)
    if (hasPassword(general.database_url)) look(['general_settings', 'database_url'], general.database_url)
  }
  for (const [name, text] of Object.entries(isObject(variables) ? variables : {}))
    if (variableOfSecret.test(name)) look(['environment_variables', name], text)
  return found
}

const isReference = (text: string): boolean => text.startsWith('os.environ/') || text.includes('${')

const hasPassword = (url: unknown): boolean => typeof url === 'string' && /^[a-z]+:\/\/[^/@]*:[^/@]+@/.test(url)
