/** Guardrails of the file, as settings. */
import type { GuardrailMode, GuardrailSettings } from '../core/guardrails.ts'
import { Secret } from '../lib/secret.ts'
import type { Config } from './sections/file.ts'

type Entry = NonNullable<Config['guardrails']>[number]

/** Those of the file. Their mistakes were found when it was read (`checks/guardrail-checks.ts`). */
export function fileGuardrails(list: Config['guardrails'] = []): readonly GuardrailSettings[] {
  return list.map(({ guardrail_name: name, proxy_params: params, guardrail_info: info }) =>
    guardrailOf({ id: name, name, params, info: info ?? {}, origin: 'config' }),
  )
}

interface NamedParams extends Pick<GuardrailSettings, 'id' | 'name' | 'info' | 'origin'> {
  readonly params: Entry['proxy_params']
}

/** The settings of a checked entry. */
export function guardrailOf({ params, ...entry }: NamedParams): GuardrailSettings {
  const {
    guardrail: kind,
    mode,
    default_on: defaultOn = false,
    api_key: key,
    signing_secret: signing,
    ...rest
  } = params
  const modes = Array.isArray(mode) ? mode : [mode]
  const recordsOnly = modes.includes('logging_only')
  const stages = modes.filter((one): one is GuardrailMode => one !== 'logging_only')
  return {
    ...entry,
    kind,
    modes: recordsOnly ? ['pre_call', 'post_call'] : [...new Set(stages)],
    defaultOn,
    recordsOnly,
    params: rest,
    secrets: { apiKey: key === undefined ? undefined : new Secret(key), ...signingOf(signing) },
  }
}

const signingOf = (text: string | undefined) => (text === undefined ? {} : { signingSecret: new Secret(text) })
